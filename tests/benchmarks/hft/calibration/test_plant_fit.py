"""Calibrating the plant from a run: of a plant with known traits, so that the truth is known."""

import math
from dataclasses import replace

import numpy as np
import pytest

from benchmarks.hft.calibration.plant_fit import calibrated, simulated
from benchmarks.hft.calibration.sweep import SweepPolicy, visits
from energy.power import ProportionalPower
from mpc.controller import Controller
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.run import control
from mpc.values import Configuration, ConfigurationSpace, FloatArray
from runtime.control.cluster import StartUpSamples
from runtime.control.journal import StepRecord
from tests.support.simulated_records import simulated_records

SPACE = ConfigurationSpace(1, 6, (1_200_000, 1_600_000, 2_000_000))
TRAITS = MicroBatchTraits(
    overhead_s=0.8, row_cycles=2e5, trigger_interval_s=1.0, overhead_cv=0.1, startup_s=0.0
)


def wave(steps: int) -> FloatArray:
    return np.asarray(20_000.0 + 15_000.0 * np.sin(np.arange(steps) / 7.0))


def swept(traits: MicroBatchTraits, steps: int, seed: int) -> list[StepRecord]:
    """A run of the plant under the sweep, as its journal would have it."""
    plant = MicroBatchPlant(
        wave(steps), traits, ProportionalPower(), SPACE.largest, np.random.default_rng(seed)
    )
    samples = StartUpSamples((3.0, 5.0), (2.0, 2.0))
    return list(simulated_records(sweep(dwell_s=20.0), plant, start_up=samples))


def sweep(dwell_s: float) -> Controller:
    """A sweep goes everywhere, late or not."""
    return Controller.of(SweepPolicy(SPACE, dwell_s=dwell_s), SPACE, math.inf, 1.0)


def test_the_traits_of_a_plant_are_found_again() -> None:
    found = calibrated(swept(TRAITS, 240, seed=1), trigger_interval_s=1.0)
    assert found.traits.overhead_s == pytest.approx(0.8, rel=0.15)
    assert found.traits.row_cycles == pytest.approx(2e5, rel=0.1)
    assert found.traits.startup_s == pytest.approx(4.0 + 2.0)
    assert found.error < 0.1


def test_the_work_of_a_batch_is_told_from_its_overhead() -> None:
    """The one is shared by the executors, the other is not."""
    traits = replace(TRAITS, batch_cycles=2e9)
    found = calibrated(swept(traits, 400, seed=1), trigger_interval_s=1.0).traits
    assert found.batch_cycles == pytest.approx(2e9, rel=0.25)
    assert found.overhead_s == pytest.approx(0.8, rel=0.25)
    assert found.row_cycles == pytest.approx(2e5, rel=0.1)


def test_a_second_run_is_predicted() -> None:
    """The check of the command itself, with a plant in place of the cluster."""
    found = calibrated(swept(TRAITS, 240, seed=1), trigger_interval_s=1.0)
    truth = MicroBatchPlant(
        wave(120), TRAITS, ProportionalPower(), SPACE.largest, np.random.default_rng(2)
    )
    steps = list(control(sweep(dwell_s=15.0), truth))
    ran_on = [SPACE.largest, *(step.applied.observed for step in steps[:-1])]
    plant = simulated(found.traits, wave(120), ran_on, 1.0, np.random.default_rng(3))
    latency_s = [
        sum(batch.latency_sum_s for batch in each.finished)
        / sum(batch.rows.rows for batch in each.finished)
        for each in (truth, plant)
    ]
    assert latency_s[1] == pytest.approx(latency_s[0], rel=0.1)


def test_a_straggler_does_not_spoil_the_fit() -> None:
    records = swept(TRAITS, 240, seed=1)
    fitted = calibrated(records, None).traits
    slow = [
        replace(
            record,
            measurement=replace(
                record.measurement,
                batches=tuple(
                    replace(batch, duration_s=20.0) if number % 25 == 0 else batch
                    for batch in record.measurement.batches
                ),
            ),
        )
        for number, record in enumerate(records)
    ]
    spoilt = calibrated(slow, None).traits
    assert spoilt.overhead_s == pytest.approx(fitted.overhead_s, rel=0.25)
    assert spoilt.row_cycles == pytest.approx(fitted.row_cycles, rel=0.25)


def test_too_few_batches_are_no_calibration() -> None:
    with pytest.raises(ValueError, match="needs 10 batches"):
        calibrated(swept(TRAITS, 3, seed=1), None)


def test_the_sweep_visits_half_and_all_executors_at_three_frequencies() -> None:
    assert visits(SPACE) == tuple(
        Configuration(n, khz) for n in (6, 3) for khz in (2_000_000, 1_200_000, 1_600_000)
    )
