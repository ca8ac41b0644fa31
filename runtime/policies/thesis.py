"""Builders of `q-learning`, `value-iteration` and `parameter-search` from their options.

The thesis gives its latency steps and maximum for one target of 30 s; they are by default in
proportion to the target that is set.
"""

import numpy as np

from mpc.policies.parameter_search import ParameterSearchParameters, ParameterSearchPolicy
from mpc.policies.q_learning import QLearningParameters, QLearningPolicy, ValueIterationPolicy
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config.policies.thesis import ParameterSearch, QLearning, ValueIteration

GRANULARITY_OF_TARGET = 1 / 3
MAXIMUM_OF_TARGET = 10.0


def q_learning_policy(
    options: QLearning,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    parameters = _parameters(options, target_latency_s, step_s)
    return QLearningPolicy(space, parameters, _seeded(options, generator))


def value_iteration_policy(
    options: ValueIteration,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    return ValueIterationPolicy(
        space,
        _parameters(options, target_latency_s, step_s),
        _seeded(options, generator),
        training_s=options.training_s,
        iterations=options.iterations,
    )


def parameter_search_policy(
    options: ParameterSearch,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    price = options.violation_executors
    parameters = ParameterSearchParameters(
        target_latency_s=target_latency_s,
        step_s=step_s,
        violation_executors=space.max_executors if price is None else price,
        min_breaches=options.min_breaches,
        max_breaches=options.max_breaches,
        breaches_step=options.breaches_step,
        confidence=options.confidence,
        history_s=options.history_s,
        evaluations=options.evaluations,
    )
    return ParameterSearchPolicy(space, parameters, generator)


def _parameters(options: QLearning, target_latency_s: float, step_s: float) -> QLearningParameters:
    granularity_ms, max_latency_ms = options.latency_granularity_ms, options.max_latency_ms
    return QLearningParameters(
        target_latency_s=target_latency_s,
        latency_granularity_s=target_latency_s * GRANULARITY_OF_TARGET
        if granularity_ms is None
        else granularity_ms / 1e3,
        max_latency_s=target_latency_s * MAXIMUM_OF_TARGET
        if max_latency_ms is None
        else max_latency_ms / 1e3,
        arrivals_granularity_per_s=options.arrivals_granularity_per_s,
        window_s=options.window_s,
        decision_interval_s=options.decision_interval_s,
        batch_interval_s=options.batch_interval_s or step_s,
        learning_factor=options.learning_factor,
        discount_factor=options.discount_factor,
        initialisation=options.initialisation,
        exploration=options.exploration,
        epsilon=options.epsilon,
        epsilon_step=options.epsilon_step,
        reward=options.reward,
        executor_strategy=options.executor_strategy,
        executor_granularity=options.executor_granularity,
    )


def _seeded(options: QLearning, generator: np.random.Generator) -> np.random.Generator:
    return generator if options.seed is None else np.random.default_rng(options.seed)
