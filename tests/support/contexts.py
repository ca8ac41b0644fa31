"""What a policy of a test is built for."""

from typing import Any

import numpy as np

from mpc.policies.context import Context
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.build import build_policy
from runtime.config import load_config


def context(
    space: ConfigurationSpace,
    step_s: float = 1.0,
    target_s: float = 1.0,
    seed: int = 1,
    **rest: Any,
) -> Context:
    generator = np.random.default_rng(seed)
    return Context(
        space=space, target_latency_s=target_s, step_s=step_s, generator=generator, **rest
    )


def foresight(built_for: Context, *overrides: str) -> Policy:
    return build_policy(load_config(None, overrides), "foresight", built_for)
