"""`[policies.mdp]` and `[policies.mdp-rl]`: the scaling of Russo Russo 2018 for one operator.

Defaults are those of its section 4.
"""

from typing import Annotated

from msgspec import Meta, Struct

Weight = Annotated[float, Meta(ge=0, le=1_000_000)]
ResourceWeight = Annotated[
    Weight, Meta(description="Cost of running all executors for one step; ratios count.")
]
ReconfigurationWeight = Annotated[
    Weight, Meta(description="Cost of a step that changes the number of executors.")
]
ViolationWeight = Annotated[
    Weight, Meta(description="Cost of a step with the latency over the target.")
]
Discount = Annotated[
    float, Meta(ge=0, le=0.999, description="What a cost one step later counts for.")
]
RateLevels = Annotated[
    int,
    Meta(
        ge=4,
        le=400,
        description="Levels the arrival rate is rounded up to; their distance follows the "
        "largest rate seen.",
        extra={"unit": "levels"},
    ),
]


class Mdp(Struct, frozen=True, forbid_unknown_fields=True):
    """Value iteration on the arrival transitions and the service cost measured so far."""

    resource_weight: ResourceWeight = 0.2
    reconfiguration_weight: ReconfigurationWeight = 0.4
    violation_weight: ViolationWeight = 0.4
    discount: Discount = 0.99
    rate_levels: RateLevels = 40


class MdpRl(Struct, frozen=True, forbid_unknown_fields=True):
    """Model-based reinforcement learning: one sweep of value iteration a step."""

    resource_weight: ResourceWeight = 0.2
    reconfiguration_weight: ReconfigurationWeight = 0.4
    violation_weight: ViolationWeight = 0.4
    discount: Discount = 0.99
    rate_levels: RateLevels = 40
    violation_smoothing: Annotated[
        float,
        Meta(
            gt=0,
            le=1,
            description="Weight of the last step in the estimate of the violations.",
        ),
    ] = 0.1
