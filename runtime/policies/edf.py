"""Builders of `edf-threshold`, `edf-q-learning` and `edf-model-based` from their options."""

import numpy as np

from mpc.policies.edf.learning import LearningParameters
from mpc.policies.edf.model_based import ModelBasedScaling
from mpc.policies.edf.q_learning import QLearningScaling
from mpc.policies.edf.single_operator import SingleOperatorPolicy
from mpc.policies.edf.threshold import ThresholdParameters, ThresholdScaling
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config.policies.edf import EdfModelBased, EdfQLearning, EdfThreshold


def edf_threshold_policy(
    options: EdfThreshold,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    del target_latency_s, step_s, generator  # Utilisation is all it looks at.
    local = ThresholdScaling(
        ThresholdParameters(
            space.min_executors,
            space.max_executors,
            options.scale_out_utilisation,
            options.scale_in_fraction,
        )
    )
    return SingleOperatorPolicy(space, local, options.settle_s)


def edf_q_learning_policy(
    options: EdfQLearning,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    del step_s  # It plans at every step, however long that is.
    parameters = _learning(options, space, target_latency_s)
    local = QLearningScaling(parameters, generator, options.exploration)
    return SingleOperatorPolicy(space, local, options.settle_s)


def edf_model_based_policy(
    options: EdfModelBased,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    del step_s, generator  # It plans at every step and never by chance.
    local = ModelBasedScaling(_learning(options, space, target_latency_s))
    return SingleOperatorPolicy(space, local, options.settle_s)


def _learning(
    options: EdfQLearning | EdfModelBased, space: ConfigurationSpace, target_latency_s: float
) -> LearningParameters:
    return LearningParameters(
        bound_s=target_latency_s,
        min_replicas=space.min_executors,
        max_replicas=space.max_executors,
        performance_weight=options.performance_weight,
        resource_weight=options.resource_weight,
        reconfiguration_weight=options.reconfiguration_weight,
        learning_rate=options.learning_rate,
        discount=options.discount,
        rate_quantum_per_s=options.rate_quantum_per_s,
        rate_levels=options.rate_levels,
    )
