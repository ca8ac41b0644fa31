"""From a configuration to the objects that decide."""

from collections.abc import Callable

import numpy as np

from energy.power import CalibratedPower, PowerModel, prior_power
from mpc.controller import Controller
from mpc.policies.catalogue import find_policy
from mpc.policies.context import Context
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config import Config


def build_policy(config: Config, name: str, context: Context) -> Policy:
    """The policy `name` with its options of the configuration."""
    return find_policy(name).build(config.options_of(name), context)


def live_space(
    config: Config, most_executors: int | None, with_frequencies: bool
) -> ConfigurationSpace:
    """What can be chosen on a cluster. Without agents nobody sets frequencies: one remains."""
    frequencies_khz = config.frequency.frequencies_khz
    largest = config.executors.max
    if most_executors is not None:
        largest = min(largest, most_executors)
    if largest < config.executors.min:
        raise ValueError(
            f"the cluster allows {largest} executors, fewer than executors.min = "
            f"{config.executors.min}: raise spark.cores.max"
        )
    return ConfigurationSpace(
        config.executors.min,
        largest,
        frequencies_khz if with_frequencies else frequencies_khz[-1:],
    )


def live_power(config: Config) -> PowerModel:
    """Watts where the configuration has a model or knows the full power, otherwise shares of it."""
    full_power_w = config.power.full_power_w
    limits = config.limits
    if not config.power.in_watts and (limits.power_cap_w or limits.energy_budget_j) is not None:
        raise ValueError(
            "limits.power_cap_w and limits.energy_budget_j need power.full_power_w on a cluster"
        )
    if config.power.coefficients is not None:
        return CalibratedPower(*config.power.coefficients)
    return prior_power(
        config.executors.max,
        config.frequency.frequencies_khz[-1],
        1.0 if full_power_w is None else full_power_w,
    )


def live_controller(
    config: Config,
    space: ConfigurationSpace,
    make_policy: Callable[[ConfigurationSpace, float], Policy] | None = None,
) -> Controller:
    """The controller of the configuration; `make_policy` replaces the policy it names."""
    power, fixed_dead_time_s = live_power(config), config.limits.dead_time_s
    plans_ahead = make_policy is not None or find_policy(config.policy).plans_ahead
    if fixed_dead_time_s is None and not plans_ahead:
        # To be built anew for another dead time would only make such a policy forget.
        fixed_dead_time_s = 0.0
    make = make_policy or (lambda space, seconds: live_policy(config, space, power, seconds))
    return Controller(
        lambda seconds: make(space, seconds),
        space,
        config.slo.latency_s,
        config.horizon.step_s,
        fixed_dead_time_s,
    )


def live_policy(
    config: Config,
    space: ConfigurationSpace,
    power: PowerModel,
    dead_time_s: float,
) -> Policy:
    """The policy of the configuration, for a live cluster; `ValueError` for one that needs what
    only the simulator measures."""
    name = config.policy
    if not find_policy(name).live:
        raise ValueError(
            f'policy = "{name}" needs measurements that Spark does not give; '
            "on a cluster choose any other"
        )
    context = Context(
        space=space,
        target_latency_s=config.slo.latency_s,
        step_s=config.horizon.step_s,
        power=power,
        dead_time_s=dead_time_s,
        latency_model="micro-batch",
        generator=np.random.default_rng(config.seed),
    )
    return build_policy(config, name, context)
