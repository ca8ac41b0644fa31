"""The simulator's Spark-like plant, calibrated from one run on a cluster and checked by another.

Pure: the journal of a run in, traits of `MicroBatchPlant` out; traits and the arrivals and
configurations of a second run in, predicted batch durations and latencies out.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy.optimize import nnls

from benchmarks.results import Run
from energy.power import ProportionalPower
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import BatchSample, Configuration, FloatArray
from runtime.control.journal import StepRecord

FEWEST_BATCHES = 10
OUTLIER_ERRORS = 3.0
"""Batches further off than so many typical errors are left out of the second fit."""


@dataclass(frozen=True, slots=True)
class Calibration:
    traits: MicroBatchTraits
    batches: int
    error: float
    """Mean of |fitted - measured| / measured over these batches."""


@dataclass(frozen=True, slots=True)
class PlantPrediction:
    """One quantity of the second run, as measured and as simulated."""

    quantity: str
    measured_s: float
    simulated_s: float

    @property
    def error(self) -> float:
        return abs(self.simulated_s - self.measured_s) / self.measured_s


def calibrated(records: Sequence[StepRecord], trigger_interval_s: float | None) -> Calibration:
    """Traits from the batches of a run; `ValueError` when there are too few of them."""
    samples = [
        sample
        for record in records
        for sample in record.measurement.batches
        if sample.rows > 0 and sample.duration_s > 0
    ]
    if len(samples) < FEWEST_BATCHES:
        raise ValueError(
            f"a calibration needs {FEWEST_BATCHES} batches, the run has {len(samples)}"
        )
    errors = _fitted(samples).errors(samples)
    typical = float(np.median(np.abs(errors)))
    kept = [
        sample
        for sample, error in zip(samples, errors, strict=True)
        if abs(error) <= OUTLIER_ERRORS * max(typical, 0.01)
    ]
    fit = _fitted(kept)
    spread = float(np.std(fit.errors(kept)))
    start_up = records[-1].start_up
    startup_s = sum(
        float(np.median(part)) for part in (start_up.registered_s, start_up.warmed_s) if part
    )
    traits = MicroBatchTraits(
        overhead_s=max(fit.overhead_s, 1e-3),
        row_cycles=max(fit.row_cycles, 1.0),
        batch_cycles=fit.batch_cycles,
        trigger_interval_s=trigger_interval_s,
        # The fit cannot tell the two apart, and both act on the same batch.
        overhead_cv=spread,
        row_cycles_cv=spread,
    )
    if startup_s:
        traits = replace(traits, startup_s=startup_s)
    return Calibration(traits, len(samples), float(np.mean(np.abs(fit.errors(samples)))))


def simulated(
    traits: MicroBatchTraits,
    arrivals_per_s: FloatArray,
    configurations: Sequence[Configuration],
    step_s: float,
    generator: np.random.Generator,
) -> MicroBatchPlant:
    """The plant after the same arrivals on the same configurations, one of each a step."""
    # What ran is given step by step, so that nothing starts late once more.
    given = replace(traits, startup_s=0.0, startup_cv=0.0, losses_per_executor_hour=0.0)
    plant = MicroBatchPlant(
        arrivals_per_s, given, ProportionalPower(), configurations[0], generator, step_s=step_s
    )
    for configuration in configurations[1:]:
        plant.wait_for_step()
        plant.steer(configuration)
    plant.wait_for_step()
    return plant


def predictions(
    traits: MicroBatchTraits,
    run: Run,
    records: Sequence[StepRecord],
    arrivals_per_s: FloatArray,
    step_s: float,
    seed: int,
) -> tuple[PlantPrediction, PlantPrediction]:
    """Mean batch duration and mean latency of a run, as it was and as the plant has it."""
    plant = simulated(
        traits,
        arrivals_per_s,
        [record.applied.observed for record in records],
        step_s,
        np.random.default_rng(seed),
    )
    measured_s = [sample.duration_s for record in records for sample in record.measurement.batches]
    finished = plant.finished
    rows = sum(batch.rows.rows for batch in finished)
    return (
        PlantPrediction(
            "batch duration",
            float(np.mean(measured_s)),
            float(np.mean([batch.finished_s - batch.started_s for batch in finished])),
        ),
        PlantPrediction(
            "latency",
            run.row.latency_mean_s,
            sum(batch.latency_sum_s for batch in finished) / rows,
        ),
    )


@dataclass(frozen=True, slots=True)
class _Fit:
    """How long a batch takes: overhead_s + (batch_cycles + rows * row_cycles) / speed_hz."""

    overhead_s: float
    batch_cycles: float
    row_cycles: float

    def errors(self, samples: Sequence[BatchSample]) -> FloatArray:
        """Relative ones."""
        rows, duration_s, speed_hz = _columns(samples)
        work_s = (self.batch_cycles + rows * self.row_cycles) / speed_hz
        return np.asarray((self.overhead_s + work_s) / duration_s - 1.0)


def _fitted(samples: Sequence[BatchSample]) -> _Fit:
    """Least squares on relative errors; no constant below zero."""
    rows, duration_s, speed_hz = _columns(samples)
    terms = np.column_stack((np.ones(len(samples)), 1.0 / speed_hz, rows / speed_hz))
    weighted = terms / duration_s[:, None]
    # Columns of like size, since NNLS has an absolute tolerance.
    scale = weighted.max(axis=0)
    found, _ = nnls(weighted / scale, np.ones(len(samples)))
    return _Fit(*map(float, found / scale))


def _columns(samples: Sequence[BatchSample]) -> tuple[FloatArray, FloatArray, FloatArray]:
    table = np.asarray(
        [
            (
                sample.rows,
                sample.duration_s,
                max(sample.ran_on.executors, 1) * sample.ran_on.frequency_khz * 1e3,
            )
            for sample in samples
        ],
        dtype=np.float64,
    )
    return table[:, 0], table[:, 1], table[:, 2]
