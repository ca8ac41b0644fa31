"""The forecast and the latency model of `foresight`, chosen by its options and by what is
controlled.
"""

from math import ceil
from typing import Protocol

from forecasting.intervals import IntervalForecaster
from forecasting.late import LateForecaster
from forecasting.registry import make_forecaster
from mpc.latency_curve import LatencyCurve
from mpc.micro_batch_latency import MicroBatchLatency
from mpc.operator_latency import OperatorLatency
from mpc.policies.context import Context
from mpc.policies.foresight.options import ForesightOptions
from mpc.values import FloatArray, IntArray, Measurement

LONGEST_GAP_S, LONGEST_GAP_STEPS = 60.0, 30
"""Longest delay with which a micro-batch engine reports arrivals; what comes later came after a
gap."""


class LatencyModel(Protocol):
    @property
    def ready(self) -> bool: ...

    @property
    def floor_s(self) -> float: ...

    @property
    def cold_excess_s(self) -> float: ...

    def observe(self, measurement: Measurement, had_backlog: bool) -> None: ...

    def scenario_ratios(self, count: int) -> FloatArray: ...

    def mean_cost(
        self,
        arrivals_per_s: FloatArray,
        ratios: FloatArray,
        most_active: IntArray,
        curve: LatencyCurve,
    ) -> FloatArray: ...

    def service_per_s(self) -> FloatArray: ...


def make_latency_model(options: ForesightOptions, context: Context) -> LatencyModel:
    if _model(options, context) == "kingman":
        return OperatorLatency(context.space, context.step_s)
    return MicroBatchLatency(context.space, context.step_s, options.slo.quantile)


def make_scenario_forecaster(
    options: ForesightOptions, context: Context, horizon_steps: int
) -> LateForecaster:
    late_steps = 0
    if _model(options, context) == "micro-batch":
        late_steps = min(ceil(LONGEST_GAP_S / context.step_s), LONGEST_GAP_STEPS)
    season_steps = options.forecast.season_steps
    season = {} if season_steps is None else {"season_steps": season_steps}
    forecaster = make_forecaster(options.forecast.model, **season)
    return LateForecaster(IntervalForecaster(forecaster, horizon_steps + late_steps), late_steps)


def _model(options: ForesightOptions, context: Context) -> str:
    chosen = options.latency.model
    return context.latency_model if chosen == "auto" else chosen
