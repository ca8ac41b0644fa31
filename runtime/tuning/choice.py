"""Which of the finalists to recommend, and whether the choice would have held on other data.

Without a bound on violations a recommendation must have no more violations and no more energy than
the present configuration, and not come closer to the target; in every single fold no more energy,
and violations within what chance makes of such counts. With a bound it must keep that in every fold
with the least energy.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt

from runtime.tuning.outcome import TuningOutcome, summed
from runtime.tuning.search import Candidate
from runtime.tuning.trace import TraceBlock

VIOLATION_PRICE = 10.0
"""A tenth of a percent more violations is worth one percent of the energy."""
STRAIN_PRICE = 2.0
"""Half a percent more windows close to the target, too: elsewhere they are violations."""
EXCESS_PRICE = 3.0
"""More energy than now counts so many times more, where it is no way out."""
LEAST_GAIN = 0.003
"""A smaller gain is not worth another configuration."""


@dataclass(frozen=True, slots=True)
class Aim:
    """What a recommendation must keep."""

    max_violations: float | None = None
    """Share of the windows; None: no more than the present configuration has."""

    def cost(self, candidate: TuningOutcome, present: TuningOutcome) -> float:
        """The present configuration costs 1 where nothing is bounded; less is better."""
        energy = candidate.mean_power_w / present.mean_power_w
        if self.max_violations is not None:
            excess = max(candidate.violation_share - self.max_violations, 0.0)
            return energy + VIOLATION_PRICE * excess
        violations = candidate.violation_share - present.violation_share
        strain = candidate.strained_share - present.strained_share
        excess = max(energy - 1.0, 0.0)
        return energy + EXCESS_PRICE * excess + VIOLATION_PRICE * violations + STRAIN_PRICE * strain

    def keeps(self, candidate: TuningOutcome, present: TuningOutcome, slack: float = 0.0) -> bool:
        """On one stretch of data, give or take `slack` violations."""
        if self.max_violations is not None:
            return candidate.violation_share <= self.max_violations
        fewer = candidate.violations <= present.violations + slack
        return fewer and candidate.energy_j <= present.energy_j

    def unstrained(self, candidate: TuningOutcome, present: TuningOutcome) -> bool:
        """On all data: no closer to the target than now."""
        return self.max_violations is not None or candidate.strained <= present.strained


@dataclass(frozen=True, slots=True)
class HeldBack:
    """What the choice makes of data it was not made on, summed over the folds."""

    chosen: TuningOutcome
    present: TuningOutcome


@dataclass(frozen=True, slots=True)
class TuningChoice:
    recommended: Candidate | None
    """None: nothing found is surely better, keep what there is."""
    held_back: HeldBack
    front: tuple[Candidate, ...]


def choose(
    present: Candidate, finalists: Sequence[Candidate], blocks: Sequence[TraceBlock], aim: Aim
) -> TuningChoice:
    every = sorted({block.fold for block in blocks})

    def best(folds: Sequence[int]) -> Candidate | None:
        """By these folds alone."""
        now = present.on(blocks, folds)
        found: list[tuple[float, int]] = []
        for index, candidate in enumerate(finalists):
            total = candidate.on(blocks, folds)
            cost = aim.cost(total, now)
            kept = aim.keeps(total, now) and all(
                _keeps_but_for_chance(candidate.on(blocks, [fold]), present.on(blocks, [fold]), aim)
                for fold in folds
            )
            gains = cost <= aim.cost(now, now) - LEAST_GAIN
            if kept and gains and aim.unstrained(total, now):
                found.append((cost, index))
        return finalists[min(found)[1]] if found else None

    chosen = []
    for fold in every:
        others = [other for other in every if other != fold] or every
        chosen.append((best(others) or present).on(blocks, [fold]))
    held_back = HeldBack(summed(chosen), present.on(blocks, every))
    recommended = best(every)
    if not _keeps_but_for_chance(held_back.chosen, held_back.present, aim):
        recommended = None  # chosen this way, configurations do not carry over
    return TuningChoice(recommended, held_back, pareto((present, *finalists)))


def pareto(candidates: Sequence[Candidate]) -> tuple[Candidate, ...]:
    """Those that no other beats in violations, energy and reconfigurations; least energy first."""

    def figures(candidate: Candidate) -> tuple[float, float, float]:
        total = candidate.total
        return (total.violation_share, total.mean_power_w, total.reconfigurations_per_h)

    points = {candidate.knobs: figures(candidate) for candidate in candidates}
    front = [
        candidate
        for candidate in candidates
        if not any(_dominates(other, points[candidate.knobs]) for other in points.values())
    ]
    return tuple(sorted(front, key=lambda candidate: points[candidate.knobs][1]))


def _dominates(one: tuple[float, ...], other: tuple[float, ...]) -> bool:
    return one != other and all(a <= b for a, b in zip(one, other, strict=True))


def _keeps_but_for_chance(candidate: TuningOutcome, present: TuningOutcome, aim: Aim) -> bool:
    """Violations are few and come in bursts: one more, and one standard deviation of a count, say
    nothing about the next day."""
    return aim.keeps(candidate, present, slack=1.0 + sqrt(present.violations))
