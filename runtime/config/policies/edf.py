"""`[policies.edf-threshold]`, `[policies.edf-q-learning]` and `[policies.edf-model-based]`.

The local policies of Cardellini et al. 2018 for one operator; defaults are those of its section 9.
"""

from typing import Annotated

from msgspec import Meta, Struct

SettleS = Annotated[
    float,
    Meta(
        ge=0,
        le=3600,
        description="Longest rest after a change while executors are started or ended.",
        extra={"unit": "s"},
    ),
]
PerformanceWeight = Annotated[
    float,
    Meta(gt=0, le=1_000_000, description="Cost of a step over the target; ratios count."),
]
ResourceWeight = Annotated[
    float, Meta(ge=0, le=1_000_000, description="Cost of running all executors for one step.")
]
ReconfigurationWeight = Annotated[
    float,
    Meta(ge=0, le=1_000_000, description="Cost of a change in the number of executors."),
]
LearningRate = Annotated[
    float, Meta(gt=0, le=1, description="Weight of the newest sample in an estimate.")
]
Discount = Annotated[
    float, Meta(ge=0, le=0.999, description="What a cost one step later counts for.")
]
RateQuantum = Annotated[
    float,
    Meta(
        gt=0,
        description="Arrival rates are rounded to multiples of this.",
        extra={"unit": "rows/s"},
    ),
]
RateLevels = Annotated[
    int,
    Meta(
        ge=1,
        le=1000,
        description="Multiples that are told apart; every higher rate counts as the highest.",
        extra={"unit": "levels"},
    ),
]


class EdfThreshold(Struct, frozen=True, forbid_unknown_fields=True):
    """One executor more or fewer by CPU utilisation."""

    scale_out_utilisation: Annotated[
        float,
        Meta(gt=0, lt=1, description="Utilisation above which an executor is added."),
    ] = 0.7
    scale_in_fraction: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="An executor goes when the others would stay below this share of "
            "scale_out_utilisation.",
        ),
    ] = 0.75
    settle_s: SettleS = 60.0


class EdfQLearning(Struct, frozen=True, forbid_unknown_fields=True):
    """Q-learning over executors and arrival rate; long in learning."""

    performance_weight: PerformanceWeight = 0.4
    resource_weight: ResourceWeight = 0.4
    reconfiguration_weight: ReconfigurationWeight = 0.2
    learning_rate: LearningRate = 0.1
    discount: Discount = 0.99
    exploration: Annotated[
        float, Meta(ge=0, le=1, description="Share of the choices made at random.")
    ] = 0.05
    rate_quantum_per_s: RateQuantum = 50.0
    rate_levels: RateLevels = 20
    settle_s: SettleS = 60.0


class EdfModelBased(Struct, frozen=True, forbid_unknown_fields=True):
    """Full backups with estimated arrival transitions and monotone violation costs."""

    performance_weight: PerformanceWeight = 0.4
    resource_weight: ResourceWeight = 0.4
    reconfiguration_weight: ReconfigurationWeight = 0.2
    learning_rate: LearningRate = 0.1
    discount: Discount = 0.99
    rate_quantum_per_s: RateQuantum = 50.0
    rate_levels: RateLevels = 20
    settle_s: SettleS = 60.0
