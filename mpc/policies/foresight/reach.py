"""How far `foresight` looks ahead, and after how many steps an executor serves."""

from dataclasses import dataclass
from math import ceil, inf

from mpc.policies.foresight.options import ForesightOptions

FEWEST_SERVED_STEPS, MOST_SERVED_STEPS = 2, 8
"""Steps planned beyond a learned dead time, between these half as many as it lasts: a plan that
counts the power of an executor while it starts must count enough of what it brings, or scaling
out is never worth it. More makes planning slower and no better."""
LONGEST_DEAD_STEPS = 30
"""Planning takes longer with every step; dead times beyond are planned as this many steps."""


@dataclass(frozen=True, slots=True)
class Reach:
    horizon_steps: int
    dead_time_steps: int


def reach_of(options: ForesightOptions, dead_time_s: float, step_s: float) -> Reach:
    """As configured; without a configured dead time the horizon follows the one that is known."""
    horizon_steps, configured_s = options.horizon.steps, options.limits.dead_time_s
    if configured_s is not None:
        return Reach(horizon_steps, ceil(configured_s / step_s))
    dead_steps = ceil(min(dead_time_s / step_s, LONGEST_DEAD_STEPS))
    served_steps = min(max(ceil(dead_steps / 2), FEWEST_SERVED_STEPS), MOST_SERVED_STEPS)
    return Reach(max(horizon_steps, dead_steps + served_steps), dead_steps)


def farthest_reach(options: ForesightOptions, step_s: float) -> Reach:
    """For any dead time that may yet be learned."""
    return reach_of(options, inf, step_s)
