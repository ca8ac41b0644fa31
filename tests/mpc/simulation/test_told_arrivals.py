"""Traits of particular clusters: arrivals told as Spark tells them, cold executors, one machine."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest

from energy.power import CalibratedPower
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import Configuration, FloatArray, Measurement

KHZ = 1_000_000
TWO = Configuration(2, KHZ)
TRAITS = MicroBatchTraits(
    overhead_s=1.0,
    row_cycles=1e6,
    trigger_interval_s=10.0,
    overhead_cv=0.0,
    row_cycles_cv=0.0,
    startup_s=3.0,
    startup_cv=0.0,
)
"""A thousand rows/s make batches of 1 + 10 000 * 1e6 / 2e9 = 6 s."""


def run(
    traits: MicroBatchTraits,
    rates_per_s: FloatArray,
    targets: dict[int, Configuration] | None = None,
) -> tuple[list[Measurement], MicroBatchPlant]:
    plant = MicroBatchPlant(
        rates_per_s, traits, CalibratedPower(0, 0, 1, 0), TWO, np.random.default_rng(0)
    )
    ran, _ = plant.watch()
    seen = []
    while plant.wait_for_step():
        seen.append(plant.measure(ran)[0])
        target = (targets or {}).get(len(seen))
        if target is not None:
            ran, _ = plant.steer(target)
    return seen, plant


def test_a_batch_tells_when_it_ends_of_the_time_before_it_began() -> None:
    rising = np.arange(60, dtype=np.float64) * 20.0
    seen, plant = run(replace(TRAITS, told_by="batch"), rising)
    told = [each for each in seen if each.arrivals_per_s is not None]
    assert {each.arrivals_origin for each in seen} == {"batch"}
    assert len(told) == len(plant.finished) - 1  # the first has nobody before it
    assert all(each.batches for each in told)
    for each, (before, batch) in zip(told, pairwise(plant.finished), strict=True):
        middle_s = each.time_s - each.arrivals_age_s - 0.5
        assert middle_s == pytest.approx((before.started_s + batch.started_s) / 2)
        assert each.arrivals_per_s == pytest.approx(20.0 * (middle_s - 0.5), rel=0.02)
        assert each.completions_per_s is not None
    assert all(each.backlog_items is None for each in seen if not each.batches)


def test_a_source_tells_in_every_step_with_what_has_no_result_yet() -> None:
    rising = np.arange(60, dtype=np.float64) * 20.0
    seen, plant = run(replace(TRAITS, told_by="source"), rising)
    assert [each.arrivals_per_s for each in seen] == pytest.approx(rising)
    assert {each.arrivals_age_s for each in seen} == {0.0}
    assert {each.arrivals_origin for each in seen} == {"source"}
    assert seen[-1].backlog_items == plant.unfinished
    # What is completed is known by the batch, whoever tells what arrives.
    assert all(each.completions_per_s is None for each in seen if not each.batches)


def test_the_first_batch_of_a_new_executor_is_longer_and_called_cold() -> None:
    steady = np.full(80, 1_000.0)
    joins = {22: Configuration(3, KHZ)}
    _, warm = run(TRAITS, steady, joins)
    seen, plant = run(replace(TRAITS, cold_s=2.0), steady, joins)
    durations_s = [batch.finished_s - batch.started_s for batch in plant.finished]
    usual_s = [batch.finished_s - batch.started_s for batch in warm.finished]
    # It joins at 25, inside the batch of 20, and runs its first whole batch at 30.
    assert [batch.started_s for batch in plant.finished[1:5]] == [10.0, 20.0, 30.0, 40.0]
    longer_s = np.subtract(durations_s, usual_s)
    assert longer_s.tolist()[1:5] == pytest.approx([0.0, 0.0, 2.0, 0.0])
    cold = [sample.cold for each in seen for sample in each.batches]
    assert cold[1:5] == [False, True, True, False]
    assert not any(batch.cold for batch in warm.finished)


def test_executors_of_one_machine_slow_each_other_down() -> None:
    steady = np.full(40, 1_000.0)
    _, alone = run(TRAITS, steady)
    seen, shared = run(replace(TRAITS, machine_hz=1e9), steady)
    first, slowed = alone.finished[2], shared.finished[1]
    assert first.finished_s - first.started_s == pytest.approx(6.0)
    assert slowed.finished_s - slowed.started_s == pytest.approx(1.0 + 9.0, abs=0.1)
    # What ran is what was set; that the machine had less to give nobody reports.
    assert {sample.ran_on for each in seen for sample in each.batches} == {TWO}


def test_an_executor_that_starts_takes_from_those_that_work() -> None:
    steady = np.full(40, 1_000.0)
    traits = replace(TRAITS, machine_hz=2e9, starting_hz=2e9, startup_s=4.0)
    _, plant = run(traits, steady, {21: Configuration(3, KHZ)})
    batch = plant.finished[2]
    # Overhead until 21, four seconds at half the speed, then all there is for the rest.
    assert batch.finished_s - batch.started_s == pytest.approx(1.0 + 4.0 + 3.0)


@pytest.mark.parametrize("changes", [{"cold_s": -1.0}, {"machine_hz": 0.0}, {"starting_hz": -1.0}])
def test_traits_without_meaning_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=next(iter(changes))):
        replace(TRAITS, **changes)
