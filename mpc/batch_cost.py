"""What a micro-batch costs, learned batch by batch.

A batch of B rows takes D = o + (w + B * c) / (n * f): an overhead that waits for nobody, work of
every batch that executors share, and c cycles a row. How much batches vary around that is learned
beside it.
"""

import math
from dataclasses import dataclass, replace

import numpy as np

from mpc.micro_batch import BatchModel
from mpc.values import BatchSample, FloatArray

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
FIRST_WORK_INFORMATION = 1.0
"""Trust in no work of a batch besides its rows, in batches: while all run at the same speed the
fixed part is taken for overhead, which no executor shortens."""
SMALLEST_FIXED_SHARE = 0.02
"""Of a batch. Back to back its fixed part is 1 - rho of it, so less would be a stream beyond
saturation; noise that leaves nothing of it would predict that rows have no latency at all."""
FIRST_CV, FIRST_CV_BATCHES = 0.1, 5
"""Variability before it is measured, and how many batches that counts for."""


@dataclass(frozen=True, slots=True)
class BatchCost:
    """The constants of D = overhead_s + (batch_cycles + rows * row_cycles) / (n * f)."""

    overhead_s: float
    row_cycles: float
    batch_cycles: float = 0.0
    cv: float = 0.0
    """Coefficient of variation from batch to batch, of the overhead and of the work alike: nothing
    that is measured tells the two apart."""

    def fixed_s(self, capacity_hz: float) -> float:
        """A batch without rows."""
        return self.overhead_s + self.batch_cycles / capacity_hz

    def model(
        self,
        step_s: float,
        interval_s: float | None = None,
        arrival_dispersion: float = 0.0,
        quantile: float | None = None,
    ) -> BatchModel:
        """What predicts the latency, of the mean or of a quantile of the rows."""
        return BatchModel(
            overhead_s=float(self.overhead_s),
            row_cycles=float(self.row_cycles),
            batch_cycles=float(self.batch_cycles),
            overhead_cv=float(self.cv),
            work_cv=float(self.cv),
            arrival_dispersion=float(arrival_dispersion),
            interval_s=float(interval_s or 0.0),
            step_s=float(step_s),
            quantile=float(quantile or 0.0),
        )


@dataclass(frozen=True, slots=True)
class BatchCostEstimate:
    """The estimate so far and what its next update needs; `refined` makes the next one."""

    cost: BatchCost
    information: tuple[tuple[float, ...], ...]
    """The symmetric information matrix of overhead, batch cycles and row cycles."""
    relative_error: float
    """Typical relative error of a prediction, by absolute value."""
    outliers_in_row: int
    """Negative when the batches were faster than predicted."""
    batches: int = 0
    """Those that the variability was learned from."""


def duration_s(cost: BatchCost, sample: BatchSample) -> float | None:
    """How long such a batch takes; None for one without a usable duration or configuration."""
    terms = _terms(sample)
    return None if terms is None else float(_constants(cost) @ terms)


def refined(estimate: BatchCostEstimate | None, sample: BatchSample) -> BatchCostEstimate | None:
    """Recursive least squares with forgetting, on relative errors. None until a batch had rows.

    Four departures from the textbook keep it in a control loop: a straggler's pull is bounded
    (Huber's weight), a run of outliers on one side starts the learning afresh, only what a batch
    tells anew is forgotten (Cao and Schwartz's directional forgetting, so that hours of equal or
    nearly empty batches neither wind the gain up nor unlearn the row cost; batches that all run at
    the same speed say nothing about how the fixed part is split), and no constant goes negative,
    nor the fixed part to nothing. A batch without a usable duration changes nothing.
    """
    terms = _terms(sample)
    if terms is None:
        return estimate
    if estimate is None:
        return _first(sample.duration_s, terms) if terms[2] > 0 else None

    constants = _constants(estimate.cost)
    predicted_s = float(constants @ terms)
    # A prediction near zero must not turn a common batch into an infinite relative error.
    size_s = max(predicted_s, 0.1 * sample.duration_s)
    error = (sample.duration_s - predicted_s) / size_s
    estimate = _after_shift(estimate, size_s, terms, error)

    typical = estimate.relative_error
    fresh = min(1.0, OUTLIER_ERRORS * typical / max(abs(error), 1e-12)) / size_s**2
    information = _updated_information(np.asarray(estimate.information), terms, fresh)
    pull = fresh * (sample.duration_s - predicted_s)
    constants = constants + _solved(information, pull * terms)
    # Of the shorter of both: neither a straggler nor a first guess tells how long batches are.
    fixed_s = SMALLEST_FIXED_SHARE * min(predicted_s, sample.duration_s)
    smallest_s = max(fixed_s - max(float(constants[1]), 0.0) * terms[1], 0.0)
    constants = _bounded(constants, information, smallest_s)

    # Clipped, so that one straggler does not make the next one look usual.
    clipped = min(abs(error), 2.0 * OUTLIER_ERRORS * typical)
    overhead_s, batch_cycles, row_cycles = map(float, constants)
    return replace(
        estimate,
        cost=BatchCost(
            overhead_s,
            row_cycles,
            batch_cycles,
            _updated_cv(estimate, clipped * size_s, overhead_s, predicted_s),
        ),
        information=_rows(information),
        relative_error=max(typical + ERROR_SMOOTHING * (clipped - typical), SMALLEST_ERROR),
        batches=estimate.batches + 1,
    )


def _updated_cv(
    estimate: BatchCostEstimate, error_s: float, overhead_s: float, predicted_s: float
) -> float:
    """Both parts vary by themselves: a batch's variance is cv^2 * (overhead^2 + work^2)."""
    work_s = max(predicted_s - overhead_s, 0.0)
    spread = math.hypot(overhead_s, work_s)
    if spread <= 0:
        return estimate.cost.cv
    weight = max(1.0 / (estimate.batches + 1 + FIRST_CV_BATCHES), 1.0 - FORGETTING)
    before = estimate.cost.cv**2
    return math.sqrt(before + weight * ((error_s / spread) ** 2 - before))


def _updated_information(information: FloatArray, terms: FloatArray, fresh: float) -> FloatArray:
    """S - (1 - forgetting) * S x x' S / (x' S x) + fresh * x x'."""
    along = information @ terms
    forgotten = (1.0 - FORGETTING) / float(terms @ along)
    return np.asarray(
        information - forgotten * np.outer(along, along) + fresh * np.outer(terms, terms)
    )


def _solved(information: FloatArray, right: FloatArray) -> FloatArray:
    """S^-1 b. The constants differ by ten orders of magnitude, so the matrix is scaled first."""
    scale = np.sqrt(np.maximum(np.diagonal(information), 1e-300))
    # Positive definite but for rounding, which bites when batches shrink by orders of magnitude.
    scaled = information / np.outer(scale, scale) + 1e-12 * np.eye(len(scale))
    return np.asarray(np.linalg.solve(scaled, right / scale) / scale)


def _bounded(constants: FloatArray, information: FloatArray, smallest_s: float) -> FloatArray:
    """The constrained minimum of the same quadratic: the other constants take up the slack."""
    lowest = np.array([smallest_s, 0.0, 0.0])
    held: list[int] = []
    while len(held) < len(constants):
        below = [
            at for at in range(len(constants)) if at not in held and constants[at] < lowest[at]
        ]
        if not below:
            break
        at = below[0]
        held.append(at)
        free = [other for other in range(len(constants)) if other not in held]
        excess = constants[at] - lowest[at]
        constants = constants.copy()
        constants[at] = lowest[at]
        if free:
            inside = information[np.ix_(free, free)]
            constants[free] += _solved(inside, information[free, at] * excess)
    return np.asarray(np.maximum(constants, lowest))


def _after_shift(
    estimate: BatchCostEstimate, size_s: float, terms: FloatArray, error: float
) -> BatchCostEstimate:
    """Count the outliers in a row; at SHIFT_BATCHES forget all but the estimate itself."""
    if abs(error) <= OUTLIER_ERRORS * estimate.relative_error:
        return replace(estimate, outliers_in_row=0)
    side = 1 if error > 0 else -1
    before = estimate.outliers_in_row
    outliers = before + side if before * side > 0 else side
    if abs(outliers) < SHIFT_BATCHES or terms[2] <= 0:
        return replace(estimate, outliers_in_row=outliers)
    return replace(_first(size_s, terms), cost=estimate.cost, batches=estimate.batches)


def _first(duration_s: float, terms: FloatArray) -> BatchCostEstimate:
    # One batch cannot tell the constants apart. Most is given to the rows: too high a row cost
    # provisions too much for a while, too low a one would scale in on no evidence.
    overhead_s = FIRST_OVERHEAD_SHARE * duration_s
    trust = np.array([FIRST_INFORMATION, FIRST_WORK_INFORMATION, FIRST_INFORMATION])
    return BatchCostEstimate(
        cost=BatchCost(overhead_s, float((duration_s - overhead_s) / terms[2]), cv=FIRST_CV),
        information=_rows(np.diag(trust * (terms / duration_s) ** 2)),
        relative_error=FIRST_ERROR,
        outliers_in_row=0,
    )


def _constants(cost: BatchCost) -> FloatArray:
    return np.array([cost.overhead_s, cost.batch_cycles, cost.row_cycles])


def _rows(matrix: FloatArray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(map(float, row)) for row in matrix)


def _terms(sample: BatchSample) -> FloatArray | None:
    """What the three constants are multiplied by."""
    speed_hz = sample.ran_on.executors * sample.ran_on.frequency_khz * 1e3
    usable = SHORTEST_BATCH_S <= sample.duration_s < math.inf
    if not usable or speed_hz <= 0 or sample.rows < 0:
        return None
    return np.array([1.0, 1.0 / speed_hz, sample.rows / speed_hz])
