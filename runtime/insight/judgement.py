"""The plan of a recorded decision beside the optimum that an independent solver finds.

The problem is made again by replaying the journal, and given to HiGHS as a mixed-integer program.
"""

from collections.abc import Callable
from dataclasses import dataclass

from mpc.horizon.judge import judge
from mpc.values import Configuration, CostTerms
from runtime.insight.journals import RecordedRun
from runtime.insight.replay import problem_of

AGREED = 1e-4
"""Relative: what the search may leave between its plan and the optimum."""


@dataclass(frozen=True, slots=True)
class Judgement:
    plan: tuple[Configuration, ...]
    plan_cost: CostTerms
    optimum: tuple[Configuration, ...]
    optimum_cost: CostTerms

    @property
    def difference(self) -> float:
        """What the plan costs more than the optimum, as a share of the optimum."""
        least = self.optimum_cost.total
        return (self.plan_cost.total - least) / max(abs(least), 1e-12)

    @property
    def words(self) -> str:
        if self.plan == self.optimum:
            return "the plan is the optimum"
        if self.difference <= AGREED:
            return f"another plan of the same cost (within {AGREED:.2%}): they agree"
        return f"the plan costs {self.difference:.3%} more than the optimum: they disagree"


class NotJudged(ValueError):
    """Says why there is nothing to judge."""


def judged(run: RecordedRun, position: int, progress: Callable[[str], None]) -> Judgement:
    """Raises `NotJudged`, or `NotReplayable`."""
    plan = run.records[position].decision.plan
    if plan is None:
        raise NotJudged("this decision planned nothing, so there is nothing to judge")
    problem = problem_of(run, position, progress)
    if problem is None:
        raise NotJudged("only the policy foresight solves a problem that can be judged")
    if problem.backlog is not None:
        raise NotJudged(
            "a backlog waited, whose delay is not linear in the choices: no mixed-integer program"
        )
    progress("solving the mixed-integer program")
    found = judge(problem)
    return Judgement(plan.trajectory, plan.cost, found.trajectory, found.cost)
