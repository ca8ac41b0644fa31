"""The experiments of Azimi Gehraz 2018, chapter 5, each with its cases; and one it does not have.

Parameters are those of its Tables 5.2 to 5.10. `exploration` compares the three policy functions of
section 4.2.3 alone, which the thesis only shows together with initialisers (section 5.5).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.thesis.run import SPACE, run
from benchmarks.thesis.workload import BATCH_S, FREQUENCY_KHZ, make_workload
from mpc.policies.fixed import FixedPolicy
from mpc.policies.parameter_search import ParameterSearchParameters, ParameterSearchPolicy
from mpc.policies.q_learning import QLearningParameters, QLearningPolicy, ValueIterationPolicy
from mpc.policies.spark_ratio import SparkRatioPolicy
from mpc.ports import Policy
from mpc.values import Configuration

TARGET_S = 30.0
THESIS = QLearningParameters()
"""Queue-aware, greedy, optimised, window 2 min, interval 1 min, granularity 10 s, 0.7 and 0.9."""
TRAINING = replace(THESIS, initialisation="zero", epsilon=1.0, epsilon_step=0.05)
"""Section 5.8 starts from zeros and does not give epsilon: the first training action is random."""

Build = Callable[[np.random.Generator], Policy]


@dataclass(frozen=True, slots=True)
class ThesisCase:
    name: str
    build: Build
    target_s: float = TARGET_S
    executors: int = SPACE.min_executors
    """At the start."""


@dataclass(frozen=True, slots=True)
class ThesisExperiment:
    section: str
    """Of the thesis; "-" where it has none."""
    cases: Callable[[str], list[ThesisCase]]
    """By workload: sections 5.9 and 5.10 set some parameters for each."""


def _learning(name: str, parameters: QLearningParameters) -> ThesisCase:
    return ThesisCase(
        name,
        lambda generator: QLearningPolicy(SPACE, parameters, generator),
        parameters.target_latency_s,
    )


def _executor_strategy(_workload: str) -> list[ThesisCase]:
    return [
        _learning("static", replace(THESIS, executor_strategy="static")),
        _learning("linear", replace(THESIS, executor_strategy="linear")),
        _learning("queue-aware", replace(THESIS, executor_strategy="queue-aware")),
    ]


def _history_window(_workload: str) -> list[ThesisCase]:
    return [
        _learning(f"{minutes} min", replace(THESIS, window_s=60.0 * minutes))
        for minutes in (1, 2, 3)
    ]


def _decision_interval(_workload: str) -> list[ThesisCase]:
    return [
        _learning(f"{minutes} min", replace(THESIS, decision_interval_s=60.0 * minutes))
        for minutes in (1, 2, 3)
    ]


def _initialiser(_workload: str) -> list[ThesisCase]:
    static = replace(THESIS, executor_strategy="static")
    zero = replace(static, initialisation="zero", exploration="epsilon", epsilon=0.2)
    return [
        _learning("optimised, greedy", static),
        _learning("zero, epsilon 0.2", zero),
        _learning("random, greedy", replace(static, initialisation="random")),
    ]


def _learning_factor(_workload: str) -> list[ThesisCase]:
    return [
        _learning(f"{factor:g}", replace(THESIS, learning_factor=factor))
        for factor in (0.7, 0.07, 0.007)
    ]


def _discretisation(_workload: str) -> list[ThesisCase]:
    return [
        _learning(f"{step_s:g} s", replace(THESIS, latency_granularity_s=step_s))
        for step_s in (5.0, 10.0, 15.0)
    ]


def _value_iteration(_workload: str) -> list[ThesisCase]:
    return [
        _learning("temporal difference", THESIS),
        *(
            ThesisCase(f"trained {minutes} min", _trained(60.0 * minutes))
            for minutes in (5, 10, 20)
        ),
    ]


def _trained(training_s: float) -> Build:
    """The training has its own data and ends with a table; the hour starts afresh with it."""

    def build(generator: np.random.Generator) -> Policy:
        teacher = ValueIterationPolicy(SPACE, TRAINING, generator, training_s)
        batches = round(training_s / BATCH_S) + 1
        run(teacher, make_workload("training"), TARGET_S, generator, batches)
        return QLearningPolicy(SPACE, THESIS, generator, values=teacher.values)

    return build


def _target(workload: str) -> list[ThesisCase]:
    window_s = 180.0 if workload == "W1" else 120.0
    return [
        _learning(f"{target_s:g} s", replace(THESIS, target_latency_s=target_s, window_s=window_s))
        for target_s in (10.0, 20.0, 30.0)
    ]


def _overall(workload: str) -> list[ThesisCase]:
    interval_s = 120.0 if workload == "W1" else 60.0
    return [
        *(_static(executors) for executors in (4, 8, 12, 24)),
        _learning("q-learning", replace(THESIS, decision_interval_s=interval_s)),
        ThesisCase("spark-ratio", lambda _generator: SparkRatioPolicy(SPACE, BATCH_S)),
        ThesisCase("parameter-search", _parameter_search),
    ]


def _exploration(_workload: str) -> list[ThesisCase]:
    return [
        _learning("greedy", THESIS),
        _learning("epsilon 0.2", replace(THESIS, exploration="epsilon")),
        _learning(
            "decreasing epsilon",
            replace(THESIS, exploration="decreasing-epsilon", epsilon=1.0, epsilon_step=0.05),
        ),
    ]


def _static(executors: int) -> ThesisCase:
    fixed = Configuration(executors, FREQUENCY_KHZ)
    return ThesisCase(
        f"static-{executors}", lambda _generator: FixedPolicy(fixed), executors=executors
    )


def _parameter_search(generator: np.random.Generator) -> Policy:
    parameters = ParameterSearchParameters(TARGET_S, BATCH_S, SPACE.max_executors)
    return ParameterSearchPolicy(SPACE, parameters, generator)


EXPERIMENTS = {
    "executor-strategy": ThesisExperiment("5.2", _executor_strategy),
    "history-window": ThesisExperiment("5.3", _history_window),
    "decision-interval": ThesisExperiment("5.4", _decision_interval),
    "initialiser": ThesisExperiment("5.5", _initialiser),
    "learning-factor": ThesisExperiment("5.6", _learning_factor),
    "discretisation": ThesisExperiment("5.7", _discretisation),
    "value-iteration": ThesisExperiment("5.8", _value_iteration),
    "target": ThesisExperiment("5.9", _target),
    "overall": ThesisExperiment("5.10", _overall),
    "exploration": ThesisExperiment("-", _exploration),
}
