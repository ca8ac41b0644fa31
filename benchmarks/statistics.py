"""What several runs of one policy say: means and their confidence intervals."""

import math
from collections.abc import Iterable, Sequence
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
    runs: tuple[Run, ...]

    @property
    def rows(self) -> tuple[Row, ...]:
        return tuple(run.row for run in self.runs)

    @property
    def series(self) -> Series:
        """Step by step, of the first repetition."""
        return self.runs[0].series

    def estimate(self, figure: str, factor: float = 1.0) -> Estimate:
        """Of a figure of the rows by its name, in the unit that the factor makes."""
        return estimate([factor * getattr(row, figure) for row in self.rows])

    def mean(self, figure: str) -> float:
        """NaN where nothing was measured, so that every comparison with it is false."""
        mean = self.estimate(figure).mean
        return math.nan if mean is None else mean

    @property
    def violations(self) -> float:
        return self.mean("violations")

    @property
    def mean_power_w(self) -> float:
        return self.mean("mean_power_w")

    @property
    def reconfigurations(self) -> float:
        return self.mean("reconfigurations")

    @property
    def steps(self) -> int:
        return self.rows[0].steps


def by_policy(runs: Iterable[Run]) -> dict[str, PolicyRuns]:
    """The runs by policy, in the order of first appearance."""
    collected: dict[str, list[Run]] = {}
    for run in runs:
        collected.setdefault(run.row.policy, []).append(run)
    return {policy: PolicyRuns(policy, tuple(own)) for policy, own in collected.items()}


def estimate(values: Sequence[float | None]) -> Estimate:
    """Mean and Student's t interval of the finite values."""
    finite = [float(value) for value in values if value is not None and math.isfinite(value)]
    if len(finite) < 2:
        return Estimate(finite[0] if finite else None, None)
    student_t = float(stdtrit(len(finite) - 1, (1 + CONFIDENCE) / 2))
    return Estimate(fmean(finite), student_t * stdev(finite) / math.sqrt(len(finite)))
