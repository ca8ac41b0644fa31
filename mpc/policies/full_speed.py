"""The decision of a policy that chooses executors only: as many as it wants, as far as the bounds
allow, at the highest frequency they allow, with the keys balanced over them.
"""

from mpc.bounds import Bounds
from mpc.policies.routing import rebalanced
from mpc.values import Configuration, Decision, Measurement


def at_full_speed(
    measurement: Measurement, bounds: Bounds, executors: int, reason: str
) -> Decision:
    target = bounds.nearest(Configuration(executors, bounds.space.frequencies_khz[-1]))
    return Decision(target, reason, key_owners=rebalanced(measurement, target.executors))
