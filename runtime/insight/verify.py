"""What a replay with the recorded configuration found, in figures and in words."""

from collections.abc import Sequence
from dataclasses import dataclass

from mpc.values import Configuration, Decision
from runtime.insight.replay import ReplayedStep
from runtime.report.words import place


@dataclass(frozen=True, slots=True)
class Difference:
    """A step that must have been decided the same, and was not."""

    step: int
    at_s: float
    recorded: str
    replayed: str


@dataclass(frozen=True, slots=True)
class ReplayVerdict:
    steps: int
    compared: int
    """Steps whose decision must be the recorded one."""
    same: int
    """Of those."""
    unknown: int
    """Steps for which the journal does not hold all that the policy had seen."""
    same_unknown: int
    differences: tuple[Difference, ...]

    @property
    def words(self) -> str:
        if not self.compared:
            words = "no step can be compared"
        elif self.same == self.compared:
            words = f"{self.compared:,} decisions compared, all exactly as recorded"
        else:
            words = f"{self.compared:,} decisions compared, {self.compared - self.same:,} differ"
        if self.unknown:
            words += (
                f"; {self.unknown:,} not compared, because the journal does not hold all that the "
                f"controller had seen by then ({self.same_unknown:,} of them are the same)"
            )
        return words


def verdict(steps: Sequence[ReplayedStep]) -> ReplayVerdict:
    known = [step for step in steps if step.known]
    unknown = [step for step in steps if not step.known]
    differing = [step for step in known if not step.same]
    return ReplayVerdict(
        steps=len(steps),
        compared=len(known),
        same=len(known) - len(differing),
        unknown=len(unknown),
        same_unknown=sum(step.same for step in unknown),
        differences=tuple(_difference(step) for step in differing),
    )


def _difference(step: ReplayedStep) -> Difference:
    record, decided = step.record, step.decided
    recorded = _in_words(record.decision, record.target)
    replayed = _in_words(decided.decision, decided.target)
    if recorded == replayed:
        recorded, replayed = f"{recorded} (as planned then)", f"{replayed} (planned otherwise)"
    return Difference(record.measurement.step, record.at_s, recorded, replayed)


def _in_words(decision: Decision, target: Configuration) -> str:
    words = f"{place(decision.target)}, {decision.reason}"
    return words if target == decision.target else f"{words}; guards: {place(target)}"
