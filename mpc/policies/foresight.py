"""`foresight`: the product's own policy, built on the MPC paper (De Matteis and Mencagli 2016) and
what it left open.

What it does differently from lat-power: it plans against scenarios of the forecast and of the
model's own error instead of their means, believes a rate that no scenario foresaw at once, and
counts the probability of a violation besides the length of the latency; it models every replica as
a queue of its own and bursts by their dispersion; it uses a calibrated power model; costs are
normalised, so that weights mean the same for any target and cluster; a change must be worth more
than staying; keys move only when they must; an overload is drained, not declared infeasible; and
nothing is scaled in on stale data.
"""

from collections import deque
from dataclasses import dataclass, replace
from math import ceil, inf
from typing import Literal, Protocol

import numpy as np
from scipy.special import expit

from energy.power import PowerModel
from mpc.batch_rhythm import BatchRhythm
from mpc.bounds import Bounds
from mpc.horizon.part import restricted
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve, warm_up
from mpc.horizon.trajectory import cost_terms
from mpc.policies.rejected import rejected_moves
from mpc.policies.routing import SteadyRouting
from mpc.risk import RiskMeasure, at_risk
from mpc.values import Configuration, ConfigurationSpace, Decision, FloatArray, Measurement, Plan

LENGTH_SHARE = 0.03
"""Weight of the length of a latency beside the weight of breaking the target. Not zero: it orders
configurations that all keep the target, or all break it."""

SURPRISE_EVERY = 2
"""A rate above all that was foreseen is a glitch or a new level, which the forecaster tells apart
only steps later. Until then every second scenario goes on at it: to scale out for a glitch costs a
little energy, to wait for the confirmation of a new level a backlog."""

COLD_SHARE = 0.1
"""Executors are brought back when the latency nears the target; a first batch that takes longer by
this share of it then breaks it."""

TABLE_CELLS = 1_000_000
FEWEST_SCENARIOS = 20
"""In very large spaces fewer scenarios are taken, so that building the cost table, which takes
longer than solving it, stays near 0.1 s for 1,000 executors."""


class ScenarioForecaster(Protocol):
    def update(self, value: float | None, age_steps: int = 0) -> None: ...

    def forecast(self, steps: int) -> FloatArray | None: ...

    def scenarios(self, steps: int, count: int, before: int = 0) -> FloatArray | None: ...


class LatencyModel(Protocol):
    @property
    def ready(self) -> bool: ...

    @property
    def floor_s(self) -> float: ...

    @property
    def cold_excess_s(self) -> float: ...

    def observe(self, measurement: Measurement, had_backlog: bool) -> None: ...

    def predict_s(self, arrivals_per_s: FloatArray) -> FloatArray: ...

    def service_per_s(self) -> FloatArray: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class ForesightParameters:
    """Defaults are the configuration's business; here is only what it does not offer."""

    target_latency_s: float
    latency_weight: float
    resource_weight: float
    switching_weight: float
    sharpness: float = 30.0
    """How suddenly a violation counts around the target: at 30, nine tenths of its cost are reached
    within a fourteenth of the way from the fastest service to the target."""
    resource: Literal["executors", "power"]
    scaling: Literal["normalised", "paper"]
    """normalised: weights mean the same for any target and cluster. paper: Expr. 11 to 14 as they
    stand, exp(R / target), executors or watts, and squared steps of executors and frequency."""
    horizon_steps: int
    step_s: float
    scenarios: int
    risk: RiskMeasure
    tail: float
    """Share of the worst scenarios that the conditional value at risk averages."""
    dead_time_s: float
    power_cap_w: float | None
    energy_budget_j: float | None
    node_budget: int
    limits: Constraints
    """Rate limits and dwell; what depends on the step is filled in at every step."""


class ForesightPolicy:
    def __init__(
        self,
        space: ConfigurationSpace,
        parameters: ForesightParameters,
        power: PowerModel,
        forecaster: ScenarioForecaster,
        latency: LatencyModel,
    ) -> None:
        warm_up()
        self._space = space
        self._parameters = parameters
        self._forecaster = forecaster
        self._latency = latency
        self._routing = SteadyRouting()
        self._items_in_system = 0.0
        self._arrivals_per_s = 0.0
        self._rhythm = BatchRhythm(parameters.step_s)
        self._foreseen_per_s = inf
        """The highest rate that the scenarios had for the step that is measured next."""
        self._dead_time_steps = ceil(parameters.dead_time_s / parameters.step_s)
        self._requests: deque[int] = deque(maxlen=self._dead_time_steps)
        executors = space.executors.astype(np.float64)[:, None]
        frequencies_khz = np.asarray(space.frequencies_khz, dtype=np.float64)[None, :]
        power_w = power.power_w(executors, frequencies_khz)
        used = power_w if parameters.resource == "power" else executors + 0.0 * power_w
        if parameters.scaling == "normalised":
            used = used / used.max()
        self._resource_cost = parameters.resource_weight * used
        self._power_w = power_w
        affordable = TABLE_CELLS // (parameters.horizon_steps * power_w.size)
        self._scenarios = min(parameters.scenarios, max(affordable, FEWEST_SCENARIOS))
        self._steps_since_change: int | None = None
        self._forgone = 0.0
        """What executors have cost since a plan could do without them."""
        self._placed = False
        """The first plan places the application: nobody has settled there yet, so it is free."""

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        backlog_items = self._learn(measurement)
        current = bounds.nearest(measurement.requested)
        horizon = self._parameters.horizon_steps
        scenarios = self._forecaster.scenarios(horizon, self._scenarios)
        expected = self._forecaster.forecast(horizon)
        if scenarios is None or expected is None or not self._latency.ready:
            return self._decided(measurement, current, "nothing measured yet: hold")
        scenarios = self._with_surprise(scenarios, measurement.arrivals_per_s)
        scenarios = self._with_gathered(scenarios)
        problem = self._problem(current, scenarios, expected, backlog_items)
        problem = restricted(problem, bounds.space)
        plan = solve(problem, node_budget=self._parameters.node_budget)
        reason, held = "cheapest plan over the horizon", None
        keeping = self._keeping(problem, plan)
        if keeping is not None:
            problem, plan = keeping
            reason = "cheapest plan that keeps executors, which are slow to come back"
        target = plan.trajectory[0]
        cooling_down = target == current and self._locked
        if cooling_down:
            dwell = self._parameters.limits.min_dwell_steps
            reason = f"changed {self._steps_since_change} steps ago and is kept for {dwell}"
        elif target == current:
            if keeping is None:
                reason = "the current configuration is the best start of the plan"
        elif self._rhythm.overdue and self._uses_less(target, current):
            target = current
            reason = "no fresh measurement: nothing is scaled in"
            held = "the cheapest plan, but nothing is scaled in without a fresh measurement"
        elif self._placed and self._may_stay(current):
            gain, needed = self._gain(problem, plan.cost.total), self._needed_gain(problem.horizon)
            if gain <= needed:
                target = current
                reason = "a change would gain less than it costs"
                held = f"the cheapest plan, but it saves {gain:.3g} and must save {needed:.3g}"
        self._placed = True
        return replace(
            self._decided(measurement, target, reason),
            plan=plan,
            expected_arrivals_per_s=expected,
            alternatives=rejected_moves(problem, plan, target, held),
            cooling_down=cooling_down,
        )

    @property
    def _locked(self) -> bool:
        since, dwell = self._steps_since_change, self._parameters.limits.min_dwell_steps
        return since is not None and since < dwell

    def _keeping(self, problem: HorizonProblem, plan: Plan) -> tuple[HorizonProblem, Plan] | None:
        """The cheapest plan without giving up executors, while it is too early to.

        An executor that comes back costs a batch over the target, and when that will be is beyond
        the horizon. So it is given up once keeping it has cost as much: whatever the load does
        then, no more than twice the least possible was paid (the ski rental problem,
        Karlin et al. 1988).
        """
        current, first = problem.current, plan.trajectory[0]
        if first.executors > current.executors:
            self._forgone = 0.0
        parameters = self._parameters
        limited = parameters.power_cap_w is not None or parameters.energy_budget_j is not None
        price = self._return_price()
        if first.executors >= current.executors or limited or not price or not self._placed:
            return None
        constraints = replace(problem.constraints, max_removed_per_step=0)
        kept = replace(problem, constraints=constraints)
        keeping = solve(kept, node_budget=parameters.node_budget)
        self._forgone += max(keeping.cost.total - plan.cost.total, 0.0) / problem.horizon
        if self._forgone >= price:
            self._forgone = 0.0
            return None
        return kept, keeping

    def _return_price(self) -> float:
        """What it costs that an executor comes back, in violated steps; 0 where it is soon warm."""
        parameters = self._parameters
        excess_s = self._latency.cold_excess_s
        if excess_s <= COLD_SHARE * parameters.target_latency_s:
            return 0.0
        # Of warm executors, as a cold batch's own length has the excess in it already.
        late_s = self._rhythm.warm_period_s + excess_s
        return parameters.latency_weight * late_s / parameters.step_s

    def _learn(self, measurement: Measurement) -> float:
        """Update every estimate; returns the items beyond those a healthy system holds."""
        step_s = self._parameters.step_s
        self._rhythm.observe(measurement)
        if measurement.arrivals_per_s is not None:
            self._arrivals_per_s = measurement.arrivals_per_s
        # Of the last rate that is known: in a gap rows in flight are no backlog.
        healthy_items = self._arrivals_per_s * self._parameters.target_latency_s
        had_backlog = self._items_in_system > 2.0 * healthy_items
        age_steps = measurement.arrivals_age_steps(step_s)
        self._forecaster.update(measurement.arrivals_per_s, age_steps)
        if measurement.arrivals_per_s is not None and measurement.completions_per_s is not None:
            growth = (measurement.arrivals_per_s - measurement.completions_per_s) * step_s
            self._items_in_system = max(self._items_in_system + growth, 0.0)
            latency_s = measurement.latency_s
            if latency_s is not None and latency_s <= self._parameters.target_latency_s:
                # First come, first served: what comes out in time has left nothing waiting. A sum
                # alone would never lose what batches that end in bursts once added to it.
                self._items_in_system = min(self._items_in_system, healthy_items)
        if measurement.backlog_items is not None:
            self._items_in_system = measurement.backlog_items  # counted, not summed up
        self._latency.observe(measurement, had_backlog)
        return max(self._items_in_system - 2.0 * healthy_items, 0.0)

    def _with_surprise(self, scenarios: FloatArray, measured_per_s: float | None) -> FloatArray:
        """Scenarios (S, h), some at the measured rate if it was neither foreseen nor is now.

        Not foreseen: while a rate falls as expected, every scenario is below what was measured.
        """
        foreseen_per_s, self._foreseen_per_s = self._foreseen_per_s, float(scenarios[:, 0].max())
        if measured_per_s is None or measured_per_s <= max(foreseen_per_s, self._foreseen_per_s):
            return scenarios
        surprised = scenarios.copy()
        surprised[::SURPRISE_EVERY] = np.maximum(surprised[::SURPRISE_EVERY], measured_per_s)
        return surprised

    def _with_gathered(self, scenarios: FloatArray) -> FloatArray:
        """Scenarios (S, h) that are nowhere below the rows which a batch has gathered by then.

        A batch works on the rows of one period before it, so a falling rate is felt that much
        later.
        """
        before = round(self._rhythm.period_s / self._parameters.step_s) - 1
        if before < 1:
            return scenarios
        count, horizon = scenarios.shape
        rates = self._forecaster.scenarios(horizon, count, before)
        if rates is None:
            return scenarios
        sums = np.cumsum(np.pad(rates, ((0, 0), (1, 0))), axis=1)
        width = rates.shape[1] - horizon + 1  # fewer steps are known at the start
        gathered = (sums[:, width:] - sums[:, :-width]) / width
        return np.asarray(np.maximum(scenarios, gathered))

    def _problem(
        self,
        current: Configuration,
        scenarios: FloatArray,
        expected: FloatArray,
        backlog_items: float,
    ) -> HorizonProblem:
        parameters = self._parameters
        qos = self._qos()
        costs = self._latency_cost(qos, self._latency.predict_s(scenarios))
        backlog = None
        if backlog_items > 0:
            backlog = Backlog(
                initial_items=backlog_items,
                arrivals_per_s=expected,
                service_per_s=self._latency.service_per_s(),
                step_s=parameters.step_s,
            )
        executor_unit = frequency_unit = 1
        if parameters.scaling == "normalised":
            executor_unit = self._space.max_executors
            frequency_unit = len(self._space.frequencies_khz)
        return HorizonProblem(
            space=self._space,
            current=current,
            latency_s=qos.latency_s(at_risk(costs, parameters.risk, parameters.tail)),
            qos=qos,
            resource_cost=self._resource_cost,
            executor_switching=parameters.switching_weight / executor_unit**2,
            frequency_switching=parameters.switching_weight / frequency_unit**2,
            constraints=replace(
                parameters.limits,
                dead_time_steps=self._dead_time_steps,
                recent_requests=self._recent_requests(current),
                steps_since_change=self._steps_since_change,
                power_w=self._power_w,
                power_cap_w=parameters.power_cap_w,
                energy_budget_j=parameters.energy_budget_j,
                step_s=parameters.step_s,
            ),
            backlog=backlog,
        )

    def _qos(self) -> QosCurve:
        """The paper's exponential, normalised: 0 at the fastest service, the weight at target."""
        weight, target_s = self._parameters.latency_weight, self._parameters.target_latency_s
        if self._parameters.scaling == "paper":
            return QosCurve(weight, 0.0, target_s)
        floor_s = self._latency.floor_s
        # A target below the fastest service cannot be met; the curve must stay a curve.
        scale_s = max(target_s - floor_s, 0.1 * target_s)
        return QosCurve(weight, floor_s, scale_s, mode="normalised")

    def _latency_cost(self, qos: QosCurve, latency_s: FloatArray) -> FloatArray:
        """What a latency costs: mostly whether it breaks the target, a little how long it is."""
        if self._parameters.scaling == "paper":
            return qos.cost(latency_s)
        distance = (latency_s - self._parameters.target_latency_s) / qos.scale_s
        violation = expit(self._parameters.sharpness * distance)
        return np.asarray(qos.weight * violation + LENGTH_SHARE * qos.cost(latency_s))

    def _uses_less(self, target: Configuration, current: Configuration) -> bool:
        """Fewer executors or a lower frequency: less capacity to fall back on."""
        return target.executors < current.executors or target.frequency_khz < current.frequency_khz

    def _may_stay(self, current: Configuration) -> bool:
        """Whether the current configuration keeps the power cap and the energy budget."""
        parameters = self._parameters
        power_w = self._power_w[
            self._space.executor_index(current.executors),
            self._space.frequency_index(current.frequency_khz),
        ]
        energy_j = power_w * parameters.step_s * parameters.horizon_steps
        capped = parameters.power_cap_w is not None and power_w > parameters.power_cap_w
        spent = parameters.energy_budget_j is not None and energy_j > parameters.energy_budget_j
        return not (capped or spent)

    def _gain(self, problem: HorizonProblem, plan_cost: float) -> float:
        """What the plan saves over the horizon against just staying."""
        stay = (problem.current,) * problem.horizon
        return cost_terms(problem, stay).total - plan_cost

    def _needed_gain(self, horizon: int) -> float:
        """A change must gain, per step, more than its price over just staying.

        The price is the switching weight. A high latency weight raises it, or else every ripple of
        the latency would be worth a change. A low one lowers it, down to a third: to sit out
        violations because a change is dear is the wrong way to save.
        """
        parameters = self._parameters
        if parameters.scaling == "paper":
            return -inf
        price = min(
            parameters.switching_weight * max(1.0, parameters.latency_weight),
            max(parameters.latency_weight / 7.0, parameters.switching_weight / 3.0),
        )
        return price * horizon

    def _recent_requests(self, current: Configuration) -> tuple[int, ...]:
        missing = self._dead_time_steps - len(self._requests)
        return (current.executors,) * missing + tuple(self._requests)

    def _decided(self, measurement: Measurement, target: Configuration, reason: str) -> Decision:
        self._requests.append(target.executors)
        if target != measurement.requested:
            self._steps_since_change = 1
        elif self._steps_since_change is not None:
            self._steps_since_change += 1
        return Decision(
            target, reason, key_owners=self._routing.table(measurement, target.executors)
        )
