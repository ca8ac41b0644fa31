"""`[policies.edf-threshold]`, `[policies.edf-q-learning]` and `[policies.edf-model-based]`.

The local policies of Cardellini et al. 2018 for one operator; defaults are those of its section 9.
"""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import (
    Discount,
    PositiveShare,
    ReconfigurationWeight,
    ResourceWeight,
    SecondsInAnHour,
    Share,
)

SettleS = Annotated[
    SecondsInAnHour,
    Meta(description="Longest rest after a change while executors are started or ended."),
]


class EdfThresholdOptions(Struct, frozen=True, forbid_unknown_fields=True):
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
            description="An executor is removed when the others would stay below this share of "
            "scale_out_utilisation.",
        ),
    ] = 0.75
    settle_s: SettleS = 60.0


class EdfModelBasedOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Full backups with estimated arrival transitions and monotone violation costs."""

    performance_weight: Annotated[
        float,
        Meta(
            gt=0,
            le=1_000_000,
            description="Cost of a step with the latency over the target. Only the ratio of the "
            "weights matters.",
        ),
    ] = 0.4
    resource_weight: ResourceWeight = 0.4
    reconfiguration_weight: ReconfigurationWeight = 0.2
    learning_rate: Annotated[
        PositiveShare, Meta(description="Weight of the newest sample in an estimate.")
    ] = 0.1
    discount: Discount = 0.99
    rate_quantum_per_s: Annotated[
        float,
        Meta(
            gt=0,
            description="Arrival rates are rounded to multiples of this rate.",
            extra={"unit": "rows/s"},
        ),
    ] = 50.0
    rate_levels: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Number of multiples of rate_quantum_per_s that are told apart; every "
            "higher rate counts as the highest.",
            extra={"unit": "levels"},
        ),
    ] = 20
    settle_s: SettleS = 60.0


class EdfQLearningOptions(EdfModelBasedOptions, frozen=True, forbid_unknown_fields=True):
    """Q-learning over executors and arrival rate; takes long to learn."""

    exploration: Annotated[Share, Meta(description="Share of the choices made at random.")] = 0.05
