"""Builder of `decentralised` from its options."""

import numpy as np

from mpc.decentralised.decision import LoadBand
from mpc.policies.decentralised import DecentralisedParameters, DecentralisedPolicy
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config.policies.decentralised import Decentralised


def decentralised_policy(
    options: Decentralised,
    space: ConfigurationSpace,
    _target_latency_s: float,
    _step_s: float,
    generator: np.random.Generator,
) -> Policy:
    """`ValueError` where the three loads are not in order."""
    return DecentralisedPolicy(
        space,
        DecentralisedParameters(
            band=LoadBand(options.target_load, options.upper_load, options.lower_load),
            period_steps=options.period_steps,
            capacity_per_s=options.capacity_per_s,
        ),
        generator,
    )
