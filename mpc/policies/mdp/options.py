"""`[policies.mdp]` and `[policies.mdp-rl]`: the scaling of Russo Russo 2018 for one operator.

Defaults are those of its section 4.
"""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import Discount, PositiveShare, ReconfigurationWeight, ResourceWeight


class MdpOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Value iteration on the arrival transitions and the service cost measured so far."""

    resource_weight: ResourceWeight = 0.2
    reconfiguration_weight: ReconfigurationWeight = 0.4
    violation_weight: Annotated[
        float,
        Meta(
            ge=0,
            le=1_000_000,
            description="Cost of a step with the latency over the target. Only the ratio of the "
            "weights matters.",
        ),
    ] = 0.4
    discount: Discount = 0.99
    rate_levels: Annotated[
        int,
        Meta(
            ge=4,
            le=400,
            description="Levels that the arrival rate is rounded up to; their distance follows "
            "the largest rate seen.",
            extra={"unit": "levels"},
        ),
    ] = 40


class MdpRlOptions(MdpOptions, frozen=True, forbid_unknown_fields=True):
    """Model-based reinforcement learning: one sweep of value iteration a step."""

    violation_smoothing: Annotated[
        PositiveShare,
        Meta(description="Weight of the last step in the estimated frequency of violations."),
    ] = 0.1
