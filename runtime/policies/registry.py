"""Policies by name, for whatever is controlled: a live cluster or a plant of the simulator.

All but `foresight` and `lat-*`, which need a power model besides.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from mpc.policies.fixed import FixedPolicy
from mpc.policies.rule_based import RuleBasedPolicy
from mpc.policies.spl import SplPolicy
from mpc.ports import Policy
from mpc.values import Configuration, ConfigurationSpace
from runtime.config import Config
from runtime.policies.decentralised import decentralised_policy
from runtime.policies.edf import (
    edf_model_based_policy,
    edf_q_learning_policy,
    edf_threshold_policy,
)
from runtime.policies.mdp import mdp_policy, mdp_rl_policy
from runtime.policies.peers import ds2_policy, hpa_policy, spark_dra_policy, spark_ratio_policy
from runtime.policies.thesis import (
    parameter_search_policy,
    q_learning_policy,
    value_iteration_policy,
)

Builder = Callable[[Any, ConfigurationSpace, float, float, np.random.Generator], Policy]
"""From the table of the policy, the space, the target and the step in seconds."""

_BUILDERS: dict[str, Builder] = {
    "q-learning": q_learning_policy,
    "value-iteration": value_iteration_policy,
    "parameter-search": parameter_search_policy,
    "edf-threshold": edf_threshold_policy,
    "edf-q-learning": edf_q_learning_policy,
    "edf-model-based": edf_model_based_policy,
    "mdp": mdp_policy,
    "mdp-rl": mdp_rl_policy,
    "decentralised": decentralised_policy,
    "ds2": ds2_policy,
    "hpa": hpa_policy,
    "spark-dra": spark_dra_policy,
    "spark-ratio": spark_ratio_policy,
}


def build_policy(
    config: Config,
    name: str,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    generator: np.random.Generator,
) -> Policy:
    """The policy `name` with its options of the configuration.

    `ValueError` for one that is not built from these values alone.
    """
    builder = _BUILDERS.get(name)
    if builder is None:
        return _without_options(name, space, target_latency_s)
    options = getattr(config.policies, name.replace("-", "_"))
    return builder(options, space, target_latency_s, step_s, generator)


def _without_options(name: str, space: ConfigurationSpace, target_latency_s: float) -> Policy:
    if name == "peak":
        return FixedPolicy(space.largest)
    if name == "rule-based":
        return RuleBasedPolicy(space, target_latency_s)
    if name == "spl":
        return SplPolicy(space)
    if name.startswith("static-"):
        executors = int(name.removeprefix("static-"))
        return FixedPolicy(Configuration(executors, space.frequencies_khz[-1]))
    raise ValueError(f"no policy {name!r} that is built from a space and a target alone")
