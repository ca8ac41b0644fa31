"""The experiments of Azimi Gehraz 2018, chapter 5, each with its cases; and one it does not have.

Parameters are those of its Tables 5.2 to 5.10. `exploration` compares the three policy functions of
section 4.2.3 alone, which the thesis only shows together with initialisers (section 5.5).
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from msgspec.structs import replace

from benchmarks.thesis.run import SPACE, run
from benchmarks.thesis.workload import BATCH_S, FREQUENCY_KHZ, make_workload
from mpc.policies.context import Context
from mpc.policies.fixed.policy import FixedPolicy
from mpc.policies.parameter_search.options import ParameterSearchOptions
from mpc.policies.parameter_search.policy import ParameterSearchPolicy
from mpc.policies.q_learning.options import QLearningOptions, ValueIterationOptions
from mpc.policies.q_learning.policy import QLearningPolicy
from mpc.policies.q_learning.value_iteration import ValueIterationPolicy
from mpc.policies.spark_ratio.options import SparkRatioOptions
from mpc.policies.spark_ratio.policy import SparkRatioPolicy
from mpc.ports import Policy
from mpc.values import Configuration

TARGET_S = 30.0
THESIS = QLearningOptions(latency_granularity_ms=10_000.0, max_latency_ms=300_000.0)
"""Queue-aware, greedy, optimised, window 2 min, interval 1 min, granularity 10 s, 0.7 and 0.9."""
TRAINING = ValueIterationOptions(
    latency_granularity_ms=10_000.0,
    max_latency_ms=300_000.0,
    initialisation="zero",
    epsilon=1.0,
    epsilon_step=0.05,
)
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


def _context(generator: np.random.Generator, target_s: float = TARGET_S) -> Context:
    return Context(space=SPACE, target_latency_s=target_s, step_s=BATCH_S, generator=generator)


def _learning(name: str, changes: Mapping[str, Any], target_s: float = TARGET_S) -> ThesisCase:
    """Q-learning as in the thesis, but for the changed options."""
    options = replace(THESIS, **changes)
    return ThesisCase(
        name, lambda generator: QLearningPolicy(options, _context(generator, target_s)), target_s
    )


def _variants(section: str, cases: Mapping[str, Mapping[str, Any]]) -> ThesisExperiment:
    """Options of Q-learning by case, the same for every workload."""
    return ThesisExperiment(
        section, lambda _workload: [_learning(name, changes) for name, changes in cases.items()]
    )


def _value_iteration(_workload: str) -> list[ThesisCase]:
    return [
        _learning("temporal difference", {}),
        *(
            ThesisCase(f"trained {minutes} min", _trained(60.0 * minutes))
            for minutes in (5, 10, 20)
        ),
    ]


def _trained(training_s: float) -> Build:
    """The training has its own data and ends with a table; the hour starts afresh with it."""

    def build(generator: np.random.Generator) -> Policy:
        context = _context(generator)
        teacher = ValueIterationPolicy(replace(TRAINING, training_s=training_s), context)
        batches = round(training_s / BATCH_S) + 1
        run(teacher, make_workload("training"), TARGET_S, generator, batches)
        return QLearningPolicy(THESIS, context, values=teacher.values)

    return build


def _target(workload: str) -> list[ThesisCase]:
    window = {"window_s": 180.0 if workload == "W1" else 120.0}
    return [_learning(f"{target_s:g} s", window, target_s) for target_s in (10.0, 20.0, 30.0)]


def _overall(workload: str) -> list[ThesisCase]:
    return [
        *(_static(executors) for executors in (4, 8, 12, 24)),
        _learning("q-learning", {"decision_interval_s": 120.0 if workload == "W1" else 60.0}),
        ThesisCase(
            "spark-ratio",
            lambda generator: SparkRatioPolicy(SparkRatioOptions(), _context(generator)),
        ),
        ThesisCase(
            "parameter-search",
            lambda generator: ParameterSearchPolicy(ParameterSearchOptions(), _context(generator)),
        ),
    ]


def _static(executors: int) -> ThesisCase:
    fixed = Configuration(executors, FREQUENCY_KHZ)
    return ThesisCase(
        f"static-{executors}", lambda _generator: FixedPolicy(fixed), executors=executors
    )


_ZERO = {"initialisation": "zero", "exploration": "epsilon", "epsilon": 0.2}
_DECREASING = {"exploration": "decreasing-epsilon", "epsilon": 1.0, "epsilon_step": 0.05}
_STATIC = {"executor_strategy": "static"}

EXPERIMENTS = {
    "executor-strategy": _variants(
        "5.2", {name: {"executor_strategy": name} for name in ("static", "linear", "queue-aware")}
    ),
    "history-window": _variants(
        "5.3", {f"{minutes} min": {"window_s": 60.0 * minutes} for minutes in (1, 2, 3)}
    ),
    "decision-interval": _variants(
        "5.4", {f"{minutes} min": {"decision_interval_s": 60.0 * minutes} for minutes in (1, 2, 3)}
    ),
    "initialiser": _variants(
        "5.5",
        {
            "optimised, greedy": _STATIC,
            "zero, epsilon 0.2": _STATIC | _ZERO,
            "random, greedy": _STATIC | {"initialisation": "random"},
        },
    ),
    "learning-factor": _variants(
        "5.6", {f"{factor:g}": {"learning_factor": factor} for factor in (0.7, 0.07, 0.007)}
    ),
    "discretisation": _variants(
        "5.7", {f"{size_s} s": {"latency_granularity_ms": 1e3 * size_s} for size_s in (5, 10, 15)}
    ),
    "value-iteration": ThesisExperiment("5.8", _value_iteration),
    "target": ThesisExperiment("5.9", _target),
    "overall": ThesisExperiment("5.10", _overall),
    "exploration": _variants(
        "-",
        {
            "greedy": {},
            "epsilon 0.2": {"exploration": "epsilon"},
            "decreasing epsilon": _DECREASING,
        },
    ),
}
