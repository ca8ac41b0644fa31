"""What several runs of one policy say: means and their confidence intervals."""

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from statistics import fmean, stdev

from scipy.special import stdtrit

from benchmarks.results import Row, Run, Series

CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Estimate:
    """A mean over repetitions; None where nothing was measured."""

    mean: float | None
    half_width: float | None
    """Half of the confidence interval of the mean; None with fewer than two repetitions."""


@dataclass(frozen=True, slots=True)
class PolicyRuns:
    """Every repetition of one policy, in the order they were given."""

    policy: str
    rows: tuple[Row, ...]
    series: Series
    """Step by step, of the first repetition."""

    def estimate(self, measure: Callable[[Row], float | None]) -> Estimate:
        return estimate([measure(row) for row in self.rows])

    def mean(self, measure: Callable[[Row], float | None]) -> float:
        """NaN where nothing was measured, so that every comparison with it is false."""
        mean = self.estimate(measure).mean
        return math.nan if mean is None else mean

    @property
    def violations(self) -> float:
        return self.mean(lambda row: row.violations)

    @property
    def mean_power_w(self) -> float:
        return self.mean(lambda row: row.mean_power_w)

    @property
    def reconfigurations(self) -> float:
        return self.mean(lambda row: row.reconfigurations)

    @property
    def steps(self) -> int:
        return self.rows[0].steps


def by_policy(runs: Iterable[Run]) -> dict[str, PolicyRuns]:
    """The runs by policy, in the order of first appearance."""
    collected: dict[str, list[Run]] = {}
    for run in runs:
        collected.setdefault(run.row.policy, []).append(run)
    return {
        policy: PolicyRuns(policy, tuple(run.row for run in own), own[0].series)
        for policy, own in collected.items()
    }


def estimate(values: Sequence[float | None]) -> Estimate:
    """Mean and Student's t interval of the finite values."""
    finite = [float(value) for value in values if value is not None and math.isfinite(value)]
    if not finite:
        return Estimate(None, None)
    if len(finite) == 1:
        return Estimate(finite[0], None)
    half_width = student_t(len(finite) - 1) * stdev(finite) / math.sqrt(len(finite))
    return Estimate(fmean(finite), half_width)


def student_t(degrees_of_freedom: int) -> float:
    """The factor of the two-sided confidence interval."""
    return float(stdtrit(degrees_of_freedom, (1 + CONFIDENCE) / 2))
