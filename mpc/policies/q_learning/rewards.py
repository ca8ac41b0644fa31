"""What an action was worth, judged by the state it led to.

Source: Azimi Gehraz 2018, section 4.2.4, whose four rules give signs; sizes and the second function
are those of the author's published code (class `PreferScaleInWhenLoadIsDescreasing` and its
sibling). Above the target a reward is as large as the violation, in latency steps. Below it a
punishment is as large as the head-room or the share of executors spared, whichever is more.

Deviations: the code also praises any action while its list of waiting batches shrinks; here the
latency says that, one decision later.
"""

from dataclasses import dataclass

from mpc.policies.q_learning.options import RewardKind
from mpc.policies.q_learning.states import Action, State, StateGrid


@dataclass(frozen=True, slots=True)
class Transition:
    before: State
    action: Action
    after: State
    executors: int
    """That ran while the action had its effect."""


def reward(
    kind: RewardKind, grid: StateGrid, change: Transition, min_executors: int, max_executors: int
) -> float:
    if grid.violates(change.after):
        return _above_target(grid, change, max_executors)
    headroom = float(grid.target_index - change.after.latency_index)
    spared = max_executors / change.executors
    if kind == "prefer-no-action":
        wasteful = change.action is Action.SCALE_OUT and not grid.violates(change.before)
        return -max(spared, headroom) if wasteful else min(spared, headroom)
    if _wasteful(grid, change, min_executors):
        return -max(spared, headroom)
    if change.action is Action.KEEP and change.executors == min_executors:
        return 0.0
    return 1.0


def _above_target(grid: StateGrid, change: Transition, max_executors: int) -> float:
    """Rules 1 to 3: praise what lowered the latency, and what the load explains."""
    violation = float(change.after.latency_index + 1 - grid.target_index)
    before, after = change.before.latency_index, change.after.latency_index
    if after < before:
        return violation
    if change.action is Action.SCALE_OUT and (after == before or change.after.rising):
        return violation
    if change.action is Action.KEEP:
        if change.executors == max_executors:
            return 1.0
        if after == before and not change.after.rising:
            return violation
    return -violation


def _wasteful(grid: StateGrid, change: Transition, min_executors: int) -> bool:
    """Rule 4, and rule 1 for executors that brought nothing."""
    if change.after.rising:
        return False
    before, after = change.before.latency_index, change.after.latency_index
    if change.action is Action.SCALE_OUT:
        return after >= before
    return (
        change.action is Action.KEEP
        and change.executors != min_executors
        and not grid.violates(change.before)
        and (after < before or after == before == 0)
    )
