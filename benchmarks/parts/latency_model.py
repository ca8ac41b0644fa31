"""The micro-batch latency model against the event-level plant, where the model knows the constants.

The load is steady: what is compared is how batches that vary lengthen each other. `cv` is the
coefficient of variation of how long batches take, from batch to batch in the steady state, as
anyone would compute it from a run. The plant varies overhead and work of every batch by the same
coefficient, `noise_cv`, chosen so that batches take on that spread; near saturation little noise
makes a lot of it, since every batch works on what came during the one before.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from energy.power import ProportionalPower
from mpc.micro_batch import BatchModel, batch_duration_moments, batch_latency_s, late_share
from mpc.simulation.micro_batch import (
    FinishedBatch,
    MicroBatchPlant,
    MicroBatchTraits,
    latency_quantiles_s,
)
from mpc.values import Configuration, FloatArray

UTILISATIONS = (0.3, 0.5, 0.7, 0.8, 0.9, 0.95, 0.98)
CVS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
TRIGGERS_S = (None, 2.0, 5.0)
"""None: back to back. With the fixed part below, 2 s is first too long and then too short for the
batches, and 5 s is exactly as long as they take at a utilisation of 0.9."""
LATE_SHARES = (0.2, 0.1, 0.05, 0.01)
"""The late share is compared at the targets that so many of the plant's rows miss."""
OVERHEAD_S, WORK_S = 0.3, 0.2
"""Fixed part of a batch: the driver's and what the executors share."""
ON = Configuration(4, 2_000_000)
CAPACITY_HZ = 4 * 2e9
ROW_CYCLES = 1e5
BATCHES = 3000
"""Of a run without load; memory of the batches and run are 1 / (1 - rho) times as long."""
MOST_BATCHES = 80_000
SETTLED = 0.05
"""Share of the batches that are left out at the beginning."""
STEPS = 100
LARGEST_NOISE = 3.0


@dataclass(frozen=True, slots=True)
class LatencyModelRow:
    rho: float
    cv: float
    """Of how long batches take."""
    trigger_s: float | None
    """None: back to back."""
    noise_cv: float
    """Of overhead and work of a batch, each."""
    predicted_s: float
    measured_s: float
    error_mean: float
    """Of the predicted mean latency, relative to the plant's."""
    error_late_share: float
    """Largest difference of the predicted share of late rows, over the targets."""
    error_without_variability: float
    """Of the mean latency that the same constants give when nothing varies."""


def latency_model_rows(
    utilisations: Sequence[float] = UTILISATIONS,
    cvs: Sequence[float] = CVS,
    triggers_s: Sequence[float | None] = TRIGGERS_S,
    seeds: int = 4,
    batches: int = BATCHES,
    progress: Callable[[str], None] | None = None,
) -> list[LatencyModelRow]:
    """One row for every combination; `progress` gets the name of each before it is simulated."""
    rows = []
    for trigger_s in triggers_s:
        for rho in utilisations:
            for cv in cvs:
                if progress is not None:
                    pace = "back to back" if trigger_s is None else f"every {trigger_s:g} s"
                    progress(f"{pace}, utilisation {rho:g}, cv {cv:g}")
                rows.append(_row(rho, cv, trigger_s, seeds, batches))
    return rows


def _row(
    rho: float, cv: float, trigger_s: float | None, seeds: int, batches: int
) -> LatencyModelRow:
    model = _with_spread(rho, cv, trigger_s)
    arrivals_per_s = rho * CAPACITY_HZ / ROW_CYCLES
    finished = simulated(model, rho, seeds, min(int(batches / (1.0 - rho)), MOST_BATCHES))
    rows = sum(batch.rows.rows for batch in finished)
    measured_s = sum(batch.latency_sum_s for batch in finished) / rows
    predicted_s = batch_latency_s(arrivals_per_s, CAPACITY_HZ, model)
    steady = model._replace(overhead_cv=0.0, work_cv=0.0)
    differences = [
        late_share(target_s, arrivals_per_s, CAPACITY_HZ, model) - _late(finished, target_s)
        for target_s in latency_quantiles_s(finished, [1.0 - share for share in LATE_SHARES])
    ]
    return LatencyModelRow(
        rho=rho,
        cv=cv,
        trigger_s=trigger_s,
        noise_cv=model.work_cv,
        predicted_s=predicted_s,
        measured_s=measured_s,
        error_mean=predicted_s / measured_s - 1.0,
        error_late_share=max(map(abs, differences)),
        error_without_variability=(
            batch_latency_s(arrivals_per_s, CAPACITY_HZ, steady) / measured_s - 1.0
        ),
    )


def _with_spread(rho: float, cv: float, trigger_s: float | None) -> BatchModel:
    """The model whose batches vary by `cv`; what they vary by follows by bisection."""
    arrivals_per_s = rho * CAPACITY_HZ / ROW_CYCLES
    model = BatchModel(OVERHEAD_S, ROW_CYCLES, WORK_S * CAPACITY_HZ, interval_s=trigger_s or 0.0)
    low, high = 0.0, LARGEST_NOISE
    for _ in range(50 if cv > 0 else 0):
        noise_cv = 0.5 * (low + high)
        model = model._replace(overhead_cv=noise_cv, work_cv=noise_cv)
        if batch_duration_moments(arrivals_per_s, CAPACITY_HZ, model)[1] < cv:
            low = noise_cv
        else:
            high = noise_cv
    return model


def simulated(model: BatchModel, rho: float, seeds: int, batches: int) -> list[FinishedBatch]:
    """Batches of the plant with the constants of the model at a steady load, of all seeds."""
    traits = MicroBatchTraits(
        overhead_s=model.overhead_s,
        row_cycles=model.row_cycles,
        batch_cycles=model.batch_cycles,
        trigger_interval_s=model.interval_s or None,
        overhead_cv=model.overhead_cv,
        row_cycles_cv=model.work_cv,
    )
    period_s = max(model.interval_s, (OVERHEAD_S + WORK_S) / (1.0 - rho))
    # A step only cuts the arrivals into pieces, and long ones are the fastest.
    step_s = batches / seeds * period_s / STEPS
    rates = np.full(STEPS, rho * CAPACITY_HZ / ROW_CYCLES)
    finished: list[FinishedBatch] = []
    for seed in range(seeds):
        plant = MicroBatchPlant(
            rates, traits, ProportionalPower(), ON, np.random.default_rng(seed), step_s=step_s
        )
        while plant.wait_for_step():
            pass
        finished += plant.finished[int(SETTLED * len(plant.finished)) :]
    return finished


def _late(batches: Sequence[FinishedBatch], target_s: float) -> float:
    """Share of the rows above the target; those of a batch come evenly spaced."""
    rows = _column(batches, lambda batch: batch.rows.rows)
    longest_s = _column(batches, lambda batch: batch.finished_s - batch.rows.first_arrival_s)
    shortest_s = _column(batches, lambda batch: batch.finished_s - batch.rows.last_arrival_s)
    spread_s = np.maximum(longest_s - shortest_s, 1e-12)
    return float(rows @ np.clip((longest_s - target_s) / spread_s, 0.0, 1.0) / rows.sum())


def _column(
    batches: Sequence[FinishedBatch], value: Callable[[FinishedBatch], float]
) -> FloatArray:
    return np.array([value(batch) for batch in batches], dtype=np.float64)
