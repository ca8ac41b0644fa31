"""Two runs on a cluster of emulated hosts: one to calibrate the plant, one to check it.

The first visits configurations while the load waves; the second is an ordinary run of `foresight`,
whose batches and latencies the calibrated plant has to predict.
"""

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from benchmarks.hft.calibration.plant_fit import (
    Calibration,
    PlantPrediction,
    calibrated,
    predictions,
)
from benchmarks.hft.comparison import StepSeen, drive, running
from benchmarks.hft.experiment import SWEEP, HftExperiment
from benchmarks.hft.setting import HftSetting
from benchmarks.hft.stream.replay import Replay
from benchmarks.hft.stream.schedule import MICROSECONDS_PER_S
from mpc.values import FloatArray
from runtime.control.journal import StepRecord, read

CHECKED_POLICY = "foresight"


@dataclass(frozen=True, slots=True)
class CalibrationRun:
    calibration: Calibration
    predictions: tuple[PlantPrediction, ...]


def calibrate(
    setting: HftSetting, begin: Callable[[str], None], on_step: StepSeen
) -> CalibrationRun:
    """`RuntimeError` when a driver fails, `ValueError` when too few batches ended."""
    with tempfile.TemporaryDirectory(prefix="foresight-calibrate-") as name:
        folder = Path(name)
        with running(setting.cluster, folder, begin) as cluster:
            begin("sweep: the run to calibrate from")
            experiment = HftExperiment(SWEEP, setting, cluster, str(folder / "sweep"))
            drive(experiment, begin, on_step)
            found = calibrated(_records(folder / "sweep"), setting.trigger_interval_s)
            begin(f"{CHECKED_POLICY}: the run to predict")
            # Another seed, so that nothing is predicted that was seen.
            other = replace(setting, seed=setting.seed + 1)
            checked = HftExperiment(CHECKED_POLICY, other, cluster, str(folder / "check"))
            outcome = drive(checked, begin, on_step)
            steps = outcome.run.row.steps
            records = [
                record for record in _records(folder / "check") if record.at_s > outcome.begin_s
            ][:steps]
    step_s = checked.config.horizon.step_s
    arrivals_per_s = arrivals(checked.replay, setting.warm_up_s, steps, step_s)
    return CalibrationRun(
        found, predictions(found.traits, outcome.run, records, arrivals_per_s, step_s, other.seed)
    )


@dataclass(frozen=True, slots=True)
class CalibrationRow:
    """One line of the result: a trait, or a quantity of the second run beside its prediction."""

    what: str
    unit: str
    value: float
    measured: float | None = None
    error: float | None = None


def calibration_rows(run: CalibrationRun) -> list[CalibrationRow]:
    calibration, traits = run.calibration, run.calibration.traits
    return [
        CalibrationRow("overhead of a batch", "s", traits.overhead_s),
        CalibrationRow("work of a batch", "cycles", traits.batch_cycles),
        CalibrationRow("cost of a row", "cycles", traits.row_cycles),
        CalibrationRow("spread of a batch", "1", traits.overhead_cv),
        CalibrationRow("start-up of an executor", "s", traits.startup_s),
        CalibrationRow("batches", "1", calibration.batches, error=calibration.error),
        *(
            CalibrationRow(
                f"{each.quantity}, mean", "s", each.simulated_s, each.measured_s, each.error
            )
            for each in run.predictions
        ),
    ]


def arrivals(replay: Replay, after_s: float, steps: int, step_s: float) -> FloatArray:
    """What the schedule has in each step, from `after_s` on; exact, where a sensor only sees what
    its batches took."""
    stream = replay.stream()
    edges_us = (after_s + step_s * np.arange(steps + 1)) * MICROSECONDS_PER_S
    return np.diff([stream.due_by(int(edge_us), 0) for edge_us in edges_us]) / step_s


def _records(folder: Path) -> list[StepRecord]:
    (journal,) = (folder / "journal").iterdir()
    return list(read(journal))
