"""From a configuration to the objects that decide."""

from energy.power import PowerModel
from forecasting.intervals import IntervalForecaster
from forecasting.registry import make_forecaster
from mpc.horizon.problem import Constraints
from mpc.micro_batch_latency import MicroBatchLatency
from mpc.operator_latency import OperatorLatency
from mpc.policies.foresight import ForesightParameters, ForesightPolicy, LatencyModel
from mpc.values import ConfigurationSpace
from runtime.config import Config


def foresight_policy(
    config: Config,
    space: ConfigurationSpace,
    target_latency_s: float,
    step_s: float,
    power: PowerModel,
) -> ForesightPolicy:
    """The product's own policy. Space, target and step come from what is controlled: the live
    cluster takes them from the configuration, a benchmark from its scenario."""
    cost, forecast, limits = config.cost, config.forecast, config.limits
    season = {} if forecast.season_steps is None else {"season_steps": forecast.season_steps}
    latency: LatencyModel
    if config.latency.model == "kingman":
        latency = OperatorLatency(space, step_s)
    else:
        latency = MicroBatchLatency(space, step_s)
    return ForesightPolicy(
        space,
        ForesightParameters(
            target_latency_s=target_latency_s,
            latency_weight=cost.latency_weight,
            resource_weight=cost.resource_weight,
            switching_weight=cost.switching_weight,
            resource=cost.resource,
            scaling=cost.scaling,
            horizon_steps=config.horizon.steps,
            step_s=step_s,
            scenarios=forecast.scenarios,
            risk=forecast.risk,
            tail=1.0 - config.slo.quantile,
            dead_time_s=limits.dead_time_s,
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
        IntervalForecaster(make_forecaster(forecast.model, **season), config.horizon.steps),
        latency,
    )
