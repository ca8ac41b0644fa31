"""The demo's load on fast and slow machines."""

import numpy as np
import pytest

from benchmarks.hft.commands import _replay
from benchmarks.hft.demo_load import (
    BATCH_SHARE,
    LEAST_PER_S,
    REFERENCE,
    TOP,
    WAVE,
    machine_speed,
    scaled_wave,
    top_per_s,
)
from benchmarks.hft.setting import EmulatedHosts, HftSetting
from mpc.batch_cost import BatchCost
from mpc.micro_batch import micro_batch_latency_s
from mpc.values import ConfigurationSpace

SETTING = HftSetting()
DEMO = (EmulatedHosts().executors, SETTING.trigger_interval_s)


def test_the_machine_that_the_demo_was_made_for_gets_its_wave() -> None:
    assert top_per_s(1.0, *DEMO) == pytest.approx(WAVE.peak_per_s, rel=0.03)


@pytest.mark.parametrize("speed", [0.5, 0.7, 1.0, 2.0])
def test_a_batch_at_the_top_takes_its_share_of_the_interval(speed: float) -> None:
    executors, interval_s = DEMO
    full = ConfigurationSpace(executors, executors, (2_000_000,))
    fixed_s = REFERENCE.overhead_s + REFERENCE.batch_cycles / (executors * 2e9)
    cost = BatchCost(fixed_s / speed, REFERENCE.row_cycles / speed)
    served_per_s = top_per_s(speed, *DEMO) / TOP
    model = cost.model(1.0, interval_s)
    latency_s = micro_batch_latency_s(np.asarray(served_per_s), model, full)
    assert float(latency_s.max()) == pytest.approx((0.5 + BATCH_SHARE) * interval_s, rel=0.01)


def test_a_machine_that_is_too_slow_gets_a_little() -> None:
    assert top_per_s(0.1, *DEMO) == LEAST_PER_S


def test_the_trough_is_as_deep_as_ever() -> None:
    wave = scaled_wave(0.6, *DEMO)
    assert wave.trough_per_s is not None
    assert WAVE.trough_per_s is not None
    depth = WAVE.trough_per_s / WAVE.peak_per_s
    assert wave.trough_per_s / wave.peak_per_s == pytest.approx(depth, rel=0.05)
    assert (wave.period_s, wave.symbols) == (WAVE.period_s, WAVE.symbols)


def test_this_machine_has_a_speed() -> None:
    assert 0.01 < machine_speed(quotes=20_000) < 100.0


def test_another_peak_keeps_the_depth_of_the_trough_unless_one_is_given() -> None:
    lower = _replay(WAVE, None, "wave", 1.0, peak=560.0, trough=None, period_s=None)
    assert lower.peak_per_s == 560.0
    assert lower.trough_per_s == pytest.approx(40.0)
    given = _replay(WAVE, None, "wave", 1.0, peak=560.0, trough=100.0, period_s=None)
    assert given.trough_per_s == 100.0
