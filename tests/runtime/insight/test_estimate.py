"""Estimates of what did not happen, beside what the simulator makes of it."""

from functools import cache

import numpy as np
import pytest

from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import Configuration
from runtime.build import live_controller, live_power, simulated_space
from runtime.config import load_config
from runtime.control.journal import StepRecord
from runtime.control.starts import Start
from runtime.insight.whatif import Totals, other_run, other_totals, recorded_totals
from tests.support.simulated_records import simulated_records

OPTIONS = ("power.full_power_w=100", "executors.max=8")
STEPS = 120


def start_with(*options: str) -> Start:
    config = load_config(None, (*OPTIONS, *options))
    return Start(0.0, "test", False, simulated_space(config), config)


@cache
def simulated(start: Start) -> tuple[StepRecord, ...]:
    """The journal of a run on the plant that is like Spark."""
    power = live_power(start.config, start.space)
    generator = np.random.default_rng(5)
    wave = 4000.0 + 2500.0 * np.sin(np.arange(STEPS) / 25.0)
    plant = MicroBatchPlant(
        wave * generator.normal(1.0, 0.05, STEPS).clip(0.5),
        MicroBatchTraits(overhead_s=0.25, row_cycles=1.2e6, startup_s=2.0),
        power,
        Configuration(4, 2_000_000),
        generator,
    )
    return tuple(simulated_records(live_controller(start.config, start.space), plant))


def estimated(own: Start, other: Start) -> Totals:
    return other_totals("other", list(other_run(simulated(own), own, other)), own)


def test_the_same_configuration_is_the_recorded_run() -> None:
    own = start_with()
    records = simulated(own)
    steps = list(other_run(records, own, own))
    assert [step.decided.decision.target for step in steps] == [r.decision.target for r in records]
    assert [step.latency_s for step in steps] == [r.measurement.latency_s for r in records]
    told, recorded = other_totals("other", steps, own), recorded_totals(records, own, own)
    assert (told.violations, told.energy) == (recorded.violations, recorded.energy)
    assert told.reconfigurations == recorded.reconfigurations


@pytest.mark.parametrize("options", [("policy=static-8",), ("policy=rule-based",)])
def test_the_estimate_is_near_what_really_would_have_been(options: tuple[str, ...]) -> None:
    own, other = start_with(), start_with(*options)
    told, truth = estimated(own, other), recorded_totals(simulated(other), other, own)
    assert told.energy == pytest.approx(truth.energy, rel=0.1)
    assert told.mean_executors == pytest.approx(truth.mean_executors, rel=0.1)
    assert abs(told.violations - truth.violations) <= 0.1 * STEPS


def test_an_overload_is_foreseen() -> None:
    """Steps in which no batch ended have no latency, so that only shares compare. The executor goes
    at once: once the target is missed it would stay."""
    own, other = start_with(), start_with("policy=static-3", "limits.scale_in_window_s=0")
    told, truth = estimated(own, other), recorded_totals(simulated(other), other, own)
    assert told.energy == pytest.approx(truth.energy, rel=0.1)
    assert told.violations > 0.5 * told.judged_steps
    assert truth.violations > 0.5 * truth.judged_steps
    assert recorded_totals(simulated(own), own, own).violations < 0.1 * STEPS
