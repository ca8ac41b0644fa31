"""From a configuration to the objects that decide."""

from collections.abc import Callable
from math import ceil
from typing import Literal

import numpy as np

from energy.power import CalibratedPower, PowerModel, prior_power
from forecasting.intervals import IntervalForecaster
from forecasting.late import LateForecaster
from forecasting.registry import make_forecaster
from mpc.controller import Controller
from mpc.horizon.problem import Constraints
from mpc.micro_batch_latency import MicroBatchLatency
from mpc.operator_latency import OperatorLatency
from mpc.policies.foresight import ForesightParameters, ForesightPolicy, LatencyModel
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config import Config
from runtime.policies.registry import build_policy

FEWEST_SERVED_STEPS, MOST_SERVED_STEPS = 2, 8
"""Steps planned beyond a learned dead time, between these half as many as it lasts: a plan that
counts the power of an executor while it starts must count enough of what it brings, or scaling
out is never worth it. More makes planning slower and no better."""
PLANNING_POLICIES = ("foresight",)
"""Those that are built with the dead time."""
LONGEST_GAP_S, LONGEST_GAP_STEPS = 60.0, 30
"""Arrivals of a micro-batch engine are told so late at most; what comes later came after a gap."""
LONGEST_DEAD_STEPS = 30
"""Planning takes longer with every step; dead times beyond are planned as this many steps."""


def foresight_policy(
    config: Config,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    power: PowerModel,
    plant_latency: Literal["kingman", "micro-batch"] = "kingman",
    learned_dead_time_s: float = 0.0,
) -> ForesightPolicy:
    """The product's own policy. Space, target and step come from what is controlled: the live
    cluster takes them from the configuration, a benchmark from its scenario. So do the latency
    model and the dead time, unless the configuration names its own."""
    cost, forecast, limits = config.cost, config.forecast, config.limits
    dead_time_s, horizon_steps = limits.dead_time_s, config.horizon.steps
    if dead_time_s is None:
        dead_steps = min(ceil(learned_dead_time_s / step_s), LONGEST_DEAD_STEPS)
        dead_time_s = dead_steps * step_s
        served_steps = min(max(ceil(dead_steps / 2), FEWEST_SERVED_STEPS), MOST_SERVED_STEPS)
        horizon_steps = max(horizon_steps, dead_steps + served_steps)
    season = {} if forecast.season_steps is None else {"season_steps": forecast.season_steps}
    latency: LatencyModel
    late = 0
    model = plant_latency if config.latency.model == "auto" else config.latency.model
    if model == "kingman":
        latency = OperatorLatency(space, step_s)
    else:
        latency = MicroBatchLatency(space, step_s)
        late = min(ceil(LONGEST_GAP_S / step_s), LONGEST_GAP_STEPS)
    return ForesightPolicy(
        space,
        ForesightParameters(
            target_latency_s=target_latency_s,
            latency_weight=cost.latency_weight,
            resource_weight=cost.resource_weight,
            switching_weight=cost.switching_weight,
            resource=cost.resource,
            scaling=cost.scaling,
            horizon_steps=horizon_steps,
            step_s=step_s,
            scenarios=forecast.scenarios,
            risk=forecast.risk,
            tail=1.0 - config.slo.quantile,
            dead_time_s=dead_time_s,
            node_budget=limits.node_budget,
            limits=Constraints(
                max_added_per_step=limits.max_added_per_step,
                max_removed_per_step=limits.max_removed_per_step,
                min_dwell_steps=limits.min_dwell_steps,
            ),
            power_cap_w=limits.power_cap_w,
            energy_budget_j=limits.energy_budget_j,
        ),
        power,
        LateForecaster(
            IntervalForecaster(make_forecaster(forecast.model, **season), horizon_steps + late),
            late,
        ),
        latency,
    )


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
    if fixed_dead_time_s is None and make_policy is None and config.policy not in PLANNING_POLICIES:
        # To be built anew for another dead time would only make such a policy forget.
        fixed_dead_time_s = 0.0
    make = make_policy or (lambda space, seconds: live_policy(config, space, power, seconds))
    return Controller(
        lambda seconds: make(space, seconds),
        space,
        config.slo.latency_ms / 1e3,
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
    name, target_s, step_s = config.policy, config.slo.latency_ms / 1e3, config.horizon.step_s
    if name == "foresight":
        return foresight_policy(
            config,
            space,
            target_s,
            step_s,
            power,
            plant_latency="micro-batch",
            learned_dead_time_s=dead_time_s,
        )
    if name == "spl" or name.startswith("lat-"):
        raise ValueError(
            f'policy = "{name}" needs measurements that Spark does not give; '
            "on a cluster choose any other"
        )
    return build_policy(config, name, space, target_s, step_s, np.random.default_rng(config.seed))
