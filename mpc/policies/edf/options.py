"""`[policies.edf-threshold]`, `[policies.edf-q-learning]` and `[policies.edf-model-based]`.

The local policies of Cardellini et al. 2018 for one operator; defaults are those of its section 9.
"""

from typing import Annotated

from msgspec import Meta

from mpc.options import (
    Discount,
    Options,
    PositiveShare,
    ReconfigurationWeight,
    ResourceWeight,
    SecondsInAnHour,
    Share,
    option,
)

SettleS = Annotated[
    SecondsInAnHour,
    Meta(description="Longest rest after a change while executors are started or ended."),
]


class EdfThresholdOptions(Options):
    """One executor more or fewer by CPU utilisation."""

    scale_out_utilisation: float = option(
        0.7, "Utilisation above which an executor is added.", gt=0, lt=1
    )
    scale_in_fraction: float = option(
        0.75,
        "An executor is removed when the others would stay below this share of "
        "scale_out_utilisation.",
        gt=0,
        lt=1,
    )
    settle_s: SettleS = 60.0


class EdfModelBasedOptions(Options):
    """Full backups with estimated arrival transitions and monotone violation costs."""

    performance_weight: float = option(
        0.4,
        "Cost of a step with the latency over the target. Only the ratio of the weights matters.",
        gt=0,
        le=1_000_000,
    )
    resource_weight: ResourceWeight = 0.4
    reconfiguration_weight: ReconfigurationWeight = 0.2
    learning_rate: PositiveShare = option(0.1, "Weight of the newest sample in an estimate.")
    discount: Discount = 0.99
    rate_quantum_per_s: float = option(
        50.0, "Arrival rates are rounded to multiples of this rate.", "rows/s", gt=0
    )
    rate_levels: int = option(
        20,
        "Number of multiples of rate_quantum_per_s that are told apart; every higher rate counts "
        "as the highest.",
        "levels",
        ge=1,
        le=1000,
    )
    settle_s: SettleS = 60.0


class EdfQLearningOptions(EdfModelBasedOptions):
    """Q-learning over executors and arrival rate; takes long to learn."""

    exploration: Share = option(0.05, "Share of the choices made at random.")
