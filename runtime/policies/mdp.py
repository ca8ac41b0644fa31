"""Builders of `mdp` and `mdp-rl` from their options."""

import numpy as np

from mpc.policies.mdp.policy import MdpParameters, MdpPolicy
from mpc.policies.mdp.problem import Weights
from mpc.policies.mdp.rl_policy import MdpRlParameters, MdpRlPolicy
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config.policies.mdp import Mdp, MdpRl


def mdp_policy(
    options: Mdp,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    _generator: np.random.Generator,
) -> Policy:
    return MdpPolicy(
        space,
        MdpParameters(
            target_latency_s=target_latency_s,
            step_s=step_s,
            weights=_weights(options),
            discount=options.discount,
            rate_levels=options.rate_levels,
        ),
    )


def mdp_rl_policy(
    options: MdpRl,
    space: ConfigurationSpace,
    target_latency_s: float,
    _step_s: float,
    _generator: np.random.Generator,
) -> Policy:
    return MdpRlPolicy(
        space,
        MdpRlParameters(
            target_latency_s=target_latency_s,
            weights=_weights(options),
            discount=options.discount,
            rate_levels=options.rate_levels,
            violation_smoothing=options.violation_smoothing,
        ),
    )


def _weights(options: Mdp | MdpRl) -> Weights:
    return Weights(
        resource=options.resource_weight,
        reconfiguration=options.reconfiguration_weight,
        violation=options.violation_weight,
    )
