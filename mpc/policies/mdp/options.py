"""`[policies.mdp]` and `[policies.mdp-rl]`: the scaling of Russo Russo 2018 for one operator.

Defaults are those of its section 4.
"""

from mpc.options import (
    Discount,
    Options,
    PositiveShare,
    ReconfigurationWeight,
    ResourceWeight,
    option,
)


class MdpOptions(Options):
    """Value iteration on the arrival transitions and the service cost measured so far."""

    resource_weight: ResourceWeight = 0.2
    reconfiguration_weight: ReconfigurationWeight = 0.4
    violation_weight: float = option(
        0.4,
        "Cost of a step with the latency over the target. Only the ratio of the weights matters.",
        ge=0,
        le=1_000_000,
    )
    discount: Discount = 0.99
    rate_levels: int = option(
        40,
        "Levels that the arrival rate is rounded up to; their distance follows the largest rate "
        "seen.",
        "levels",
        ge=4,
        le=400,
    )


class MdpRlOptions(MdpOptions):
    """Model-based reinforcement learning: one sweep of value iteration a step."""

    violation_smoothing: PositiveShare = option(
        0.1, "Weight of the last step in the estimated frequency of violations."
    )
