"""From a configuration to the objects that decide."""

from collections.abc import Callable, Sequence

import numpy as np

from energy.power import CalibratedPower, PowerModel, prior_power
from mpc.controller import Controller
from mpc.policies.catalogue import find_policy
from mpc.policies.context import Context
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config import Config
from runtime.fleet.frequencies import frequencies_of
from runtime.fleet.targets import HostFrequencies


def build_policy(config: Config, name: str, context: Context) -> Policy:
    """The policy `name` with its options of the configuration."""
    return find_policy(name).build(config.options_of(name), context)


def live_space(
    config: Config, most_executors: int | None, hosts: Sequence[HostFrequencies]
) -> ConfigurationSpace:
    """What can be chosen on a cluster of these hosts. Without any nobody sets frequencies: one
    remains, of which only ratios count."""
    frequencies_khz = config.frequency.nominal_khz[-1:]
    if hosts:
        frequencies_khz = frequencies_of(hosts, config.frequency)
    return _space(config, most_executors, frequencies_khz)


def simulated_space(config: Config, most_executors: int | None = None) -> ConfigurationSpace:
    """What can be chosen where nobody was asked what hosts have: on a simulated cluster."""
    return _space(config, most_executors, config.frequency.nominal_khz)


def _space(
    config: Config, most_executors: int | None, frequencies_khz: tuple[int, ...]
) -> ConfigurationSpace:
    largest = config.executors.max
    if most_executors is not None:
        largest = min(largest, most_executors)
    if largest < config.executors.min:
        raise ValueError(
            f"the cluster allows {largest} executors, fewer than executors.min = "
            f"{config.executors.min}: raise spark.cores.max"
        )
    return ConfigurationSpace(config.executors.min, largest, frequencies_khz)


def live_power(config: Config, space: ConfigurationSpace) -> CalibratedPower:
    """The prior: watts where the configuration has a model or knows the full power, otherwise
    shares of it."""
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
        space.frequencies_khz[-1],
        1.0 if full_power_w is None else full_power_w,
    )


def live_controller(
    config: Config,
    space: ConfigurationSpace,
    make_policy: Callable[[ConfigurationSpace, float], Policy] | None = None,
) -> Controller:
    """The controller of the configuration; `make_policy` replaces the policy it names."""
    power, fixed_dead_time_s = live_power(config, space), config.limits.dead_time_s
    if make_policy is None:
        policy = live_policy(config, space, power, fixed_dead_time_s or 0.0)
    else:
        policy = make_policy(space, fixed_dead_time_s or 0.0)
    return Controller(
        policy,
        space,
        config.slo.latency_s,
        config.horizon.step_s,
        fixed_dead_time_s,
        config.limits.descent,
        config.slo.quantile,
    )


def check_policy(config: Config, space: ConfigurationSpace, *, given: bool) -> None:
    """`ValueError` for what `live_controller` would refuse, without building anything; `given`: a
    policy comes with the call."""
    live_power(config, space)
    if given:
        return
    refuse_operator_model(config)
    if not find_policy(config.policy).live:
        raise ValueError(
            f'policy = "{config.policy}" needs measurements that Spark does not give; '
            "on a cluster choose any other"
        )


def refuse_operator_model(config: Config) -> None:
    """`ValueError` for a latency model that does not describe a micro-batch engine."""
    if config.latency.model == "kingman":
        raise ValueError(
            'latency.model = "kingman" predicts the wait of single tuples and knows nothing of the '
            'batches that Spark works in; on a cluster use "micro-batch", or leave it out'
        )


def live_policy(
    config: Config,
    space: ConfigurationSpace,
    power: PowerModel,
    dead_time_s: float,
) -> Policy:
    """The policy of the configuration, for a live cluster; `ValueError` for one that needs what
    only the simulator measures."""
    check_policy(config, space, given=False)
    context = Context(
        space=space,
        target_latency_s=config.slo.latency_s,
        step_s=config.horizon.step_s,
        power=power,
        power_in_watts=config.power.in_watts,
        idle_share=config.power.idle_share,
        dead_time_s=dead_time_s,
        latency_model="micro-batch",
        generator=np.random.default_rng(config.seed),
    )
    return build_policy(config, config.policy, context)
