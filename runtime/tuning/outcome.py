"""What came of one simulation, counted so that candidates with different steps can be compared."""

from collections.abc import Iterable, Sequence

import msgspec
import numpy as np

from mpc.simulation.micro_batch import FinishedBatch, late_rows
from mpc.simulation.summary import changes_in
from mpc.values import Configuration

WINDOW_S = 5.0
"""Violations are counted in windows of this length, whatever the control step is."""
STRAINED = 0.8
"""A window with a latency above this share of the target was close to a violation."""


class TuningOutcome(msgspec.Struct, frozen=True):
    """Sums, so that blocks can be added."""

    windows: int
    violations: int
    """Windows whose mean latency was over the target, or that had no result at all."""
    strained: int
    """Windows that came close; far more of them than violations, so they tell sooner."""
    energy_j: float
    reconfigurations: int
    duration_s: float

    @property
    def violation_share(self) -> float:
        return self.violations / max(self.windows, 1)

    @property
    def strained_share(self) -> float:
        return self.strained / max(self.windows, 1)

    @property
    def mean_power_w(self) -> float:
        return self.energy_j / self.duration_s

    @property
    def reconfigurations_per_h(self) -> float:
        return self.reconfigurations / self.duration_s * 3600.0


def summed(outcomes: Iterable[TuningOutcome]) -> TuningOutcome:
    """Of at least one."""
    values = zip(*(msgspec.structs.astuple(outcome) for outcome in outcomes), strict=True)
    return TuningOutcome(*(sum(each) for each in values))


def counted(
    batches: Sequence[FinishedBatch],
    power_w: Sequence[float],
    configurations: Sequence[Configuration],
    *,
    step_s: float,
    target_s: float,
    quantile: float | None = None,
    warm_up_s: float,
) -> TuningOutcome:
    """Of everything after the warm-up; `power_w` and `configurations` have one value a step."""
    skipped = round(warm_up_s / step_s)
    duration_s = (len(power_w) - skipped) * step_s
    windows = max(int(duration_s / WINDOW_S + 1e-9), 1)
    rows, latency_s = np.zeros(windows), np.zeros(windows)
    late, strained = np.zeros(windows), np.zeros(windows)
    for batch in batches:
        window = int((batch.finished_s - skipped * step_s) // WINDOW_S)
        if 0 <= window < windows:
            rows[window] += batch.rows.rows
            latency_s[window] += batch.latency_sum_s
            late[window] += late_rows(batch, target_s)
            strained[window] += late_rows(batch, STRAINED * target_s)
    if quantile is None:
        broken, nearly = latency_s > target_s * rows, latency_s > STRAINED * target_s * rows
    else:
        broken, nearly = late > (1.0 - quantile) * rows, strained > (1.0 - quantile) * rows
    kept = configurations[skipped:]
    return TuningOutcome(
        windows=windows,
        violations=int((broken | (rows == 0)).sum()),
        strained=int((nearly | (rows == 0)).sum()),
        energy_j=float(np.sum(power_w[skipped:]) * step_s),
        reconfigurations=changes_in(kept).reconfigurations,
        duration_s=duration_s,
    )
