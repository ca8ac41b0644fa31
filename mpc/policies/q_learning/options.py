"""`[policies.q-learning]` and `[policies.value-iteration]`: every parameter of Azimi Gehraz 2018,
Table 4.4.

Its latency steps and maximum are given for one target of 30 s, so they are by default in proportion
to the target that is set.
"""

from collections.abc import Iterator
from typing import Annotated, Literal

from msgspec import Meta, Struct

from mpc.policies.options import (
    DAY_S,
    Contradiction,
    Key,
    PositiveSecondsInADay,
    PositiveShare,
    Share,
    Surroundings,
    at_most,
)

Initialisation = Literal["zero", "random", "optimised"]
ExplorationKind = Literal["greedy", "epsilon", "decreasing-epsilon"]
RewardKind = Literal["prefer-scale-in", "prefer-no-action"]
StrategyKind = Literal["static", "linear", "queue-aware"]

GRANULARITY_OF_TARGET = 1 / 3
MAXIMUM_OF_TARGET = 10.0


class QLearningOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Temporal difference learning over latency and the direction of the load."""

    executor_granularity: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Executors added or removed by one action.",
            extra={"unit": "executors"},
        ),
    ] = 1
    max_latency_ms: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Latency above which all latencies are one state.",
                extra={"unit": "ms", "absent": "ten times the target", "example": 5_000.0},
            ),
        ]
        | None
    ) = None
    latency_granularity_ms: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Width of one latency state.",
                extra={"unit": "ms", "absent": "a third of the target", "example": 250.0},
            ),
        ]
        | None
    ) = None
    arrivals_granularity_per_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Smallest change of the arrival rate that counts as one.",
                extra={"unit": "items/s", "absent": "every change counts", "example": 5.0},
            ),
        ]
        | None
    ) = None
    window_s: Annotated[
        PositiveSecondsInADay,
        Meta(description="Sliding window over which latency and arrivals are averaged."),
    ] = 120.0
    decision_interval_s: Annotated[
        PositiveSecondsInADay, Meta(description="Time between two decisions.")
    ] = 60.0
    batch_interval_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=DAY_S,
                description="Trigger interval of the query, by which waiting batches are counted "
                '(executor_strategy = "queue-aware").',
                extra={"unit": "s", "absent": "the control step", "example": 10.0},
            ),
        ]
        | None
    ) = None
    learning_factor: Annotated[
        PositiveShare, Meta(description="Weight of a new experience against the earlier ones.")
    ] = 0.7
    discount_factor: Annotated[
        float,
        Meta(ge=0, lt=1, description="Weight of later rewards against the immediate one."),
    ] = 0.9
    initialisation: Annotated[
        Initialisation,
        Meta(description="Values of the actions before anything is learned."),
    ] = "optimised"
    exploration: Annotated[
        ExplorationKind,
        Meta(
            description="Choice of an action: always the best known one, or a random one with "
            "probability epsilon, constant or decreasing."
        ),
    ] = "greedy"
    epsilon: Annotated[Share, Meta(description="Probability of a random action.")] = 0.2
    epsilon_step: Annotated[
        Share,
        Meta(
            description="Amount by which epsilon falls with every decision "
            '(exploration = "decreasing-epsilon").'
        ),
    ] = 0.05
    reward: Annotated[
        RewardKind,
        Meta(description="Action that is rewarded while latency is below the target."),
    ] = "prefer-scale-in"
    executor_strategy: Annotated[
        StrategyKind,
        Meta(
            description="Executors of one action: always the same number, more with each "
            "repetition, or as many as batches wait too long."
        ),
    ] = "queue-aware"
    seed: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="Seed of the random values and actions of this policy.",
                extra={"absent": "that of the run", "example": 1},
            ),
        ]
        | None
    ) = None

    def latency_granularity_s(self, target_s: float) -> float:
        width_ms = self.latency_granularity_ms
        return target_s * GRANULARITY_OF_TARGET if width_ms is None else width_ms / 1e3

    def max_latency_s(self, target_s: float) -> float:
        most_ms = self.max_latency_ms
        return target_s * MAXIMUM_OF_TARGET if most_ms is None else most_ms / 1e3

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        """The target must fall between the first latency state and the last."""
        target: Key = ("slo", "latency_ms")
        target_ms = surroundings.latency_ms
        width_ms, most_ms = self.latency_granularity_ms, self.max_latency_ms
        if width_ms is not None and width_ms > target_ms:
            key = surroundings.key("latency_granularity_ms")
            yield at_most(key, width_ms, target, target_ms)
        if most_ms is not None and most_ms <= target_ms:
            key = surroundings.key("max_latency_ms")
            yield (
                (key, f"must be more than slo.latency_ms = {target_ms:g}"),
                (target, f"must be less than {'.'.join(key)} = {most_ms:g}"),
            )


class ValueIterationOptions(QLearningOptions, frozen=True, forbid_unknown_fields=True):
    """A model learned in a training period, solved by value iteration, then q-learning."""

    training_s: Annotated[
        PositiveSecondsInADay,
        Meta(
            description="Length of the training period, in which actions are explored with "
            "decreasing epsilon."
        ),
    ] = 300.0
    iterations: Annotated[
        int, Meta(ge=1, le=10_000, description="Sweeps of the value iteration.")
    ] = 10
