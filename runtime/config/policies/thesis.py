"""Options of the policies of Azimi Gehraz 2018: `q-learning`, `value-iteration` and
`parameter-search`.

The first two carry every parameter of its Table 4.4; the bounds of the executors and the target
latency are `executors.min`, `executors.max` and `slo.latency_ms`. Its latency steps and maximum are
given for one target of 30 s, so they are by default in proportion to the target that is set.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct


class QLearning(Struct, frozen=True, forbid_unknown_fields=True):
    """Temporal difference learning over latency and the direction of the load."""

    executor_granularity: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Executors added or removed at each step.",
            extra={"unit": "executors"},
        ),
    ] = 1
    max_latency_ms: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Latencies above are one state.",
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
                description="Latencies are told apart in steps of this size.",
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
                description="Arrival rates are compared in steps of this size.",
                extra={"unit": "items/s", "absent": "every change counts", "example": 5.0},
            ),
        ]
        | None
    ) = None
    window_s: Annotated[
        float,
        Meta(
            gt=0,
            le=86_400,
            description="Sliding window over which latency and arrivals are averaged.",
            extra={"unit": "s"},
        ),
    ] = 120.0
    decision_interval_s: Annotated[
        float, Meta(gt=0, le=86_400, description="Time between decisions.", extra={"unit": "s"})
    ] = 60.0
    batch_interval_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=86_400,
                description="Length of a batch, to count those that wait (queue-aware).",
                extra={"unit": "s", "absent": "one control step", "example": 10.0},
            ),
        ]
        | None
    ) = None
    learning_factor: Annotated[
        float, Meta(gt=0, le=1, description="Weight of new experience against the old.")
    ] = 0.7
    discount_factor: Annotated[
        float, Meta(ge=0, lt=1, description="Weight of what follows against what is now.")
    ] = 0.9
    initialisation: Annotated[
        Literal["zero", "random", "optimised"],
        Meta(description="Values of the actions before anything is learned."),
    ] = "optimised"
    exploration: Annotated[
        Literal["greedy", "epsilon", "decreasing-epsilon"],
        Meta(description="Best known action, or with probability epsilon any."),
    ] = "greedy"
    epsilon: Annotated[float, Meta(ge=0, le=1, description="Probability of a random action.")] = 0.2
    epsilon_step: Annotated[
        float,
        Meta(ge=0, le=1, description="With decreasing-epsilon: less at each decision."),
    ] = 0.05
    reward: Annotated[
        Literal["prefer-scale-in", "prefer-no-action"],
        Meta(description="What is praised while the load falls below the target."),
    ] = "prefer-scale-in"
    executor_strategy: Annotated[
        Literal["static", "linear", "queue-aware"],
        Meta(
            description="Executors of one action: always the same, more each time in a row, or as "
            "many as batches wait too long."
        ),
    ] = "queue-aware"
    seed: (
        Annotated[
            int,
            Meta(
                ge=0,
                description="Seed of the random values and actions.",
                extra={"absent": "that of the run", "example": 1},
            ),
        ]
        | None
    ) = None


class ValueIteration(QLearning, frozen=True, forbid_unknown_fields=True):
    """A model learned in a training period, solved by value iteration, then q-learning."""

    training_s: Annotated[
        float,
        Meta(
            gt=0,
            le=86_400,
            description="Time in which samples are collected, with decreasing epsilon.",
            extra={"unit": "s"},
        ),
    ] = 300.0
    iterations: Annotated[
        int, Meta(ge=1, le=10_000, description="Sweeps of the value iteration.")
    ] = 10


class ParameterSearch(Struct, frozen=True, forbid_unknown_fields=True):
    """Utilisation thresholds, searched anew whenever the load changes."""

    min_breaches: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Fewest breaches in a row before a change.",
            extra={"unit": "steps"},
        ),
    ] = 2
    max_breaches: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Most breaches in a row before a change.",
            extra={"unit": "steps"},
        ),
    ] = 128
    breaches_step: Annotated[
        int,
        Meta(ge=1, le=10_000, description="Step of their range.", extra={"unit": "steps"}),
    ] = 4
    confidence: Annotated[
        float,
        Meta(gt=0, lt=1, description="Accepted probability of a false alarm of the detector."),
    ] = 0.5
    history_s: Annotated[
        float,
        Meta(gt=0, le=86_400, description="History replayed in the search.", extra={"unit": "s"}),
    ] = 1200.0
    violation_executors: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Price of latency above the target, as executors in use.",
                extra={"unit": "executors", "absent": "all of them", "example": 24.0},
            ),
        ]
        | None
    ) = None
    evaluations: Annotated[
        int, Meta(ge=1, le=100_000, description="Thresholds tried in one search.")
    ] = 200
