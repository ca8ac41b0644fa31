"""`[policies.q-learning]` and `[policies.value-iteration]`: every parameter of Azimi Gehraz 2018,
Table 4.4.

Its latency steps and maximum are given for one target of 30 s, so they are by default in proportion
to the target that is set.
"""

from collections.abc import Iterator
from typing import Literal

from mpc.options import (
    Contradiction,
    Executors,
    Key,
    Milliseconds,
    Options,
    PositiveSecondsInADay,
    PositiveShare,
    Share,
    Surroundings,
    at_most,
    option,
)

Initialisation = Literal["zero", "random", "optimised"]
ExplorationKind = Literal["greedy", "epsilon", "decreasing-epsilon"]
RewardKind = Literal["prefer-scale-in", "prefer-no-action"]
StrategyKind = Literal["static", "linear", "queue-aware"]

GRANULARITY_OF_TARGET = 1 / 3
MAXIMUM_OF_TARGET = 10.0


class QLearningOptions(Options):
    """Temporal difference learning over latency and the direction of the load."""

    executor_granularity: Executors = option(1, "Executors added or removed by one action.")
    max_latency_ms: Milliseconds | None = option(
        None,
        "Latency above which all latencies are one state.",
        absent="ten times the target",
        example=5_000.0,
    )
    latency_granularity_ms: Milliseconds | None = option(
        None, "Width of one latency state.", absent="a third of the target", example=250.0
    )
    arrivals_granularity_per_s: float | None = option(
        None,
        "Smallest change of the arrival rate that counts as one.",
        "items/s",
        gt=0,
        absent="every change counts",
        example=5.0,
    )
    window_s: PositiveSecondsInADay = option(
        120.0, "Sliding window over which latency and arrivals are averaged."
    )
    decision_interval_s: PositiveSecondsInADay = option(60.0, "Time between two decisions.")
    batch_interval_s: PositiveSecondsInADay | None = option(
        None,
        "Trigger interval of the query, by which waiting batches are counted (executor_strategy "
        '= "queue-aware").',
        absent="as measured; the control step where there is none",
        example=10.0,
    )
    learning_factor: PositiveShare = option(
        0.7, "Weight of a new experience against the earlier ones."
    )
    discount_factor: float = option(
        0.9, "Weight of later rewards against the immediate one.", ge=0, lt=1
    )
    initialisation: Initialisation = option(
        "optimised", "Values of the actions before anything is learned."
    )
    exploration: ExplorationKind = option(
        "greedy",
        "Choice of an action: always the best known one, or a random one with probability "
        "epsilon, constant or decreasing.",
    )
    epsilon: Share = option(0.2, "Probability of a random action.")
    epsilon_step: Share = option(
        0.05,
        'Amount by which epsilon falls with every decision (exploration = "decreasing-epsilon").',
    )
    reward: RewardKind = option(
        "prefer-scale-in", "Action that is rewarded while latency is below the target."
    )
    executor_strategy: StrategyKind = option(
        "queue-aware",
        "Executors of one action: always the same number, more with each repetition, or as many "
        "as batches wait too long.",
    )
    seed: int | None = option(
        None,
        "Seed of the random values and actions of this policy.",
        ge=0,
        absent="that of the run",
        example=1,
    )

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


class ValueIterationOptions(QLearningOptions):
    """A model learned in a training period, solved by value iteration, then q-learning."""

    training_s: PositiveSecondsInADay = option(
        300.0,
        "Length of the training period, in which actions are explored with decreasing epsilon.",
    )
    iterations: int = option(10, "Sweeps of the value iteration.", ge=1, le=10_000)
