"""Latency of a micro-batch engine (Spark's default) and the online estimate of its two constants.

A batch of B rows takes D = o + B * c / (n * f): a fixed overhead and c cycles a row. The latency is
finite everywhere, rises with arrivals and never with executors or frequency; a backlog from earlier
steps is not part of it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from forecasting.compiled import compiled
from mpc.queueing import TANGENT_UTILISATION, utilisation
from mpc.values import BatchSample, ConfigurationSpace, FloatArray

FORGETTING = 0.98
"""Weight of the past at every batch: a memory of about 50 batches."""
OUTLIER_ERRORS = 2.0
"""A batch that is off by more than this many typical errors counts less."""
SHIFT_BATCHES = 5
"""So many outliers in a row on the same side are no stragglers: the job itself has changed."""
ERROR_SMOOTHING = 0.1
SMALLEST_ERROR = 0.01
SHORTEST_BATCH_S = 1e-6
"""What claims to be shorter is no measurement; Spark reports milliseconds."""
FIRST_ERROR = 0.5
FIRST_OVERHEAD_SHARE = 0.25
FIRST_INFORMATION = 0.1
"""Trust in that share, in batches. Less and noise splits the constants; more and it stays wrong."""


@dataclass(frozen=True, slots=True)
class BatchCost:
    """The two constants of D = overhead_s + rows * row_cycles / (n * f)."""

    overhead_s: float
    row_cycles: float


def micro_batch_latency_s(
    arrivals_per_s: FloatArray,
    cost: BatchCost,
    space: ConfigurationSpace,
    step_s: float,
    trigger_interval_s: float | None = None,
) -> FloatArray:
    """Mean latency of a row for every configuration; shape arrivals.shape + (N, F).

    Batches begin every T = max(I, D*): D* = o / (1 - rho) is the batch that takes as long as its
    rows took to arrive. A row waits T/2 for its batch to begin and then all of it, o + rho * T.
    Back to back (no interval) that is 1.5 * D*. D* is continued by its tangent above a
    utilisation of 0.98; above 1 the step's growing backlog is added as a fluid.
    """
    table = utilisation(arrivals_per_s, cost.row_cycles, space)
    _turn_into_latency_s(
        table.reshape(-1),
        float(cost.overhead_s),
        float(trigger_interval_s or 0.0),
        float(step_s),
        # An argument: numba's disk cache does not see a constant of another file change.
        TANGENT_UTILISATION,
    )
    return table


@compiled
def _turn_into_latency_s(
    table: FloatArray, overhead_s: float, interval_s: float, step_s: float, edge: float
) -> None:
    # One pass in place: with array operations most of the time goes into temporaries.
    idle_share = 1.0 - edge
    for index, rho in enumerate(table):
        if rho <= edge:
            period_s = overhead_s / (1.0 - rho)
        else:
            period_s = overhead_s / idle_share * (1.0 + (rho - edge) / idle_share)
        period_s = max(period_s, interval_s)
        fluid_s = max(rho - 1.0, 0.0) * step_s / 2.0
        table[index] = period_s / 2.0 + overhead_s + min(rho, 1.0) * period_s + fluid_s


def warm_up() -> None:
    """Compile (or load from the disk cache) before the first control step."""
    space = ConfigurationSpace(1, 1, (1_000_000,))
    micro_batch_latency_s(np.ones(1), BatchCost(1.0, 1.0), space, step_s=1.0)


@dataclass(frozen=True, slots=True)
class BatchCostEstimate:
    """The estimate so far and what its next update needs; `refined` makes the next one."""

    cost: BatchCost
    information: tuple[float, float, float]
    """The symmetric 2 x 2 information matrix (overhead, both, row cost)."""
    relative_error: float
    """Typical relative error of a prediction, by absolute value."""
    outliers_in_row: int
    """Negative when the batches were faster than predicted."""


def duration_s(cost: BatchCost, sample: BatchSample) -> float | None:
    """How long such a batch takes; None for one without a usable duration or configuration."""
    load = _load(sample)
    return None if load is None else cost.overhead_s + cost.row_cycles * load


def refined(estimate: BatchCostEstimate | None, sample: BatchSample) -> BatchCostEstimate | None:
    """Recursive least squares with forgetting, on relative errors. None until a batch had rows.

    Four departures from the textbook keep it in a control loop: a straggler's pull is bounded
    (Huber's weight), a run of outliers on one side starts the learning afresh, only what a batch
    tells anew is forgotten (Cao and Schwartz's directional forgetting, so that hours of equal or
    nearly empty batches neither wind the gain up nor unlearn the row cost), and neither constant
    goes negative. A batch without a usable duration changes nothing.
    """
    load = _load(sample)
    if load is None:
        return estimate
    if estimate is None:
        return _first(sample.duration_s, load) if load > 0 else None

    overhead_s, row_cycles = estimate.cost.overhead_s, estimate.cost.row_cycles
    predicted_s = overhead_s + row_cycles * load
    # A prediction near zero must not turn a common batch into an infinite relative error.
    size_s = max(predicted_s, 0.1 * sample.duration_s)
    error = (sample.duration_s - predicted_s) / size_s
    estimate = _after_shift(estimate, size_s, load, error)

    typical = estimate.relative_error
    fresh = min(1.0, OUTLIER_ERRORS * typical / max(abs(error), 1e-12)) / size_s**2
    s_oo, s_ol, s_ll = _updated_information(estimate.information, load, fresh)
    # Positive definite but for rounding, which bites when batches shrink by orders of magnitude.
    determinant = max(s_oo * s_ll - s_ol**2, 1e-12 * s_oo * s_ll)
    pull = fresh * (sample.duration_s - predicted_s)
    overhead_s += pull * (s_ll - s_ol * load) / determinant
    row_cycles += pull * (s_oo * load - s_ol) / determinant

    # The constrained minimum of the same quadratic: the other constant takes up the slack.
    if overhead_s < 0:
        overhead_s, row_cycles = 0.0, max(row_cycles + overhead_s * s_ol / s_ll, 0.0)
    elif row_cycles < 0:
        overhead_s, row_cycles = max(overhead_s + row_cycles * s_ol / s_oo, 0.0), 0.0

    # Clipped, so that one straggler does not make the next one look usual.
    clipped = min(abs(error), 2.0 * OUTLIER_ERRORS * typical)
    return replace(
        estimate,
        cost=BatchCost(overhead_s, row_cycles),
        information=(s_oo, s_ol, s_ll),
        relative_error=max(typical + ERROR_SMOOTHING * (clipped - typical), SMALLEST_ERROR),
    )


def _updated_information(
    information: tuple[float, float, float], load: float, fresh: float
) -> tuple[float, float, float]:
    """S - (1 - forgetting) * S x x' S / (x' S x) + fresh * x x' with x = (1, load)."""
    s_oo, s_ol, s_ll = information
    along_o, along_l = s_oo + s_ol * load, s_ol + s_ll * load
    forgotten = (1.0 - FORGETTING) / (along_o + along_l * load)
    return (
        s_oo - forgotten * along_o**2 + fresh,
        s_ol - forgotten * along_o * along_l + fresh * load,
        s_ll - forgotten * along_l**2 + fresh * load**2,
    )


def _after_shift(
    estimate: BatchCostEstimate, size_s: float, load: float, error: float
) -> BatchCostEstimate:
    """Count the outliers in a row; at SHIFT_BATCHES forget all but the estimate itself."""
    if abs(error) <= OUTLIER_ERRORS * estimate.relative_error:
        return replace(estimate, outliers_in_row=0)
    side = 1 if error > 0 else -1
    before = estimate.outliers_in_row
    outliers = before + side if before * side > 0 else side
    if abs(outliers) < SHIFT_BATCHES or load <= 0:
        return replace(estimate, outliers_in_row=outliers)
    return replace(_first(size_s, load), cost=estimate.cost)


def _first(duration_s: float, load: float) -> BatchCostEstimate:
    # One batch cannot tell the constants apart. Most is given to the rows: too high a row cost
    # provisions too much for a while, too low a one would scale in on no evidence.
    overhead_s = FIRST_OVERHEAD_SHARE * duration_s
    return BatchCostEstimate(
        cost=BatchCost(overhead_s, (duration_s - overhead_s) / load),
        information=(
            FIRST_INFORMATION / duration_s**2,
            0.0,
            FIRST_INFORMATION * (load / duration_s) ** 2,
        ),
        relative_error=FIRST_ERROR,
        outliers_in_row=0,
    )


def _load(sample: BatchSample) -> float | None:
    speed_hz = sample.ran_on.executors * sample.ran_on.frequency_khz * 1e3
    usable = SHORTEST_BATCH_S <= sample.duration_s < math.inf
    if not usable or speed_hz <= 0 or sample.rows < 0:
        return None
    return sample.rows / speed_hz
