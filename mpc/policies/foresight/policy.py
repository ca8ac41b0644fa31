"""`foresight`: the product's own policy, built on the MPC paper (De Matteis and Mencagli 2016) and
what it left open.

What it does differently from lat-power: it plans against scenarios of the forecast and of the
model's own error instead of their means, believes a rate that no scenario foresaw at once, and
counts the probability of a violation besides the length of the latency; it models every replica as
a queue of its own and bursts by their dispersion; its power model counts busy cores and is
calibrated, or learned from the hosts; costs are normalised, so that weights mean the same for any
target and cluster; a change must be worth more than staying; keys move only when they must; an
overload is drained, not declared infeasible; and nothing is scaled in on stale data.
"""

from dataclasses import replace
from math import inf

import numpy as np

from forecasting.memory import RateMemory
from mpc import cost_tables, micro_batch
from mpc.batch_rhythm import BatchRhythm
from mpc.bounds import Bounds
from mpc.horizon import search
from mpc.horizon.core import active_caps
from mpc.horizon.part import restricted
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve
from mpc.horizon.trajectory import cost_terms
from mpc.latency_curve import LatencyCurve, curve_of
from mpc.pipeline import Pipeline
from mpc.policies.context import Context
from mpc.policies.foresight.models import make_latency_model, make_scenario_forecaster
from mpc.policies.foresight.options import ForesightOptions
from mpc.policies.foresight.reach import farthest_reach, reach_of
from mpc.policies.foresight.rejected import rejected_moves
from mpc.policies.foresight.resources import ResourceTerm
from mpc.policies.foresight.scenarios import Scenarios
from mpc.policies.foresight.way_back import WayBack
from mpc.policies.routing import SteadyRouting
from mpc.risk import at_risk
from mpc.values import Configuration, Decision, FloatArray, Measurement, Plan

SHARPNESS = 30.0
"""How suddenly a violation counts around the target: at 30, nine tenths of its cost are reached
within a fourteenth of the way from the fastest service to the target."""

LENGTH_SHARE = 0.03
"""Weight of the length of a latency beside the weight of breaking the target. Not zero: it orders
configurations that all keep the target, or all break it."""

COLD_SHARE = 0.1
"""Executors are brought back when the latency nears the target; a first batch that takes longer by
this share of it then breaks it."""

CHEAPEST = "cheapest plan over the horizon"
SAFEST = "cheapest plan from which executors, slow in their first batch, are back in time"

FREQUENCY_STEPS = 3
"""Steps for which a change of the frequency alone must be worth its price. For a horizon of 22
steps, as with executors that start in 14 s, it would have to save a twelfth of the full power."""

TABLE_CELLS = 1_000_000
FEWEST_SCENARIOS = 20
"""In very large spaces fewer scenarios are taken, which bounds the time for the cost table."""


class ForesightPolicy:
    def __init__(self, options: ForesightOptions, context: Context) -> None:
        search.warm_up()
        cost_tables.warm_up()
        micro_batch.warm_up()
        space = context.space
        self._space = space
        self._options = options
        self._weights = options.cost.weights
        self._target_s = context.target_latency_s
        self._step_s = context.step_s
        self._clock_step_s = context.step_s * context.clock_speed
        self._reach = reach_of(options, context.dead_time_s, context.step_s)
        farthest = farthest_reach(options, context.step_s)
        self._forecaster = make_scenario_forecaster(options, context, farthest.horizon_steps)
        self._scenarios = Scenarios(self._forecaster, context.step_s, farthest.horizon_steps)
        self._latency = make_latency_model(options, context)
        self._routing = SteadyRouting()
        self._items_in_system = 0.0
        self._arrivals_per_s = 0.0
        self._rhythm = BatchRhythm(context.step_s)
        self._pipeline = Pipeline()
        self._resources = ResourceTerm(options.cost, context)
        self._way_back = WayBack()
        self.keeps_problem = False
        """For a judge: whether the problem of the last decision is to be kept."""
        self.problem: HorizonProblem | None = None
        self._placed = False
        """The first plan places the application: nobody has settled there yet, so it is free."""

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        if measurement.startup_s is not None:
            self._reach = reach_of(self._options, measurement.startup_s, self._step_s)
        backlog_items = self._learn(measurement)
        self._pipeline.observe(measurement.requested, measurement.observed)
        current = bounds.nearest(measurement.requested)
        self._way_back.observe(measurement, current.executors, bounds.space.max_executors)
        horizon = self._reach.horizon_steps
        affordable = TABLE_CELLS // (horizon * self._resources.cost.size)
        count = min(self._options.forecast.scenarios, max(affordable, FEWEST_SCENARIOS))
        scenarios = self._forecaster.scenarios(horizon, count)
        expected = self._forecaster.forecast(horizon)
        self.problem = None
        if scenarios is None or expected is None or not self._latency.ready:
            return self._decided(measurement, current, "nothing measured yet: hold")
        scenarios = self._scenarios.with_surprise(scenarios, measurement.arrivals_per_s)
        scenarios = self._scenarios.with_gathered(scenarios, self._rhythm.period_s)
        self._resources.expect(expected, self._latency.service_per_s())
        problem, plan, reason = self._planned(current, scenarios, expected, backlog_items, bounds)
        held = None
        self.problem = problem if self.keeps_problem else None
        target = plan.trajectory[0]
        cooling_down = target == current and self._locked
        if cooling_down:
            dwell = self._options.limits.min_dwell_steps
            reason = (
                f"changed {self._pipeline.steps_since_change} steps ago and is kept for {dwell}"
            )
        elif target == current:
            if reason == CHEAPEST:
                reason = "the current configuration is the best start of the plan"
        elif self._rhythm.overdue and self._uses_less(target, current):
            target = current
            reason = "no fresh measurement: nothing is scaled in"
            held = "the cheapest plan, but nothing is scaled in without a fresh measurement"
        elif self._placed and self._may_stay(current):
            gain = self._gain(problem, plan.cost.total)
            needed = self._needed_gain(problem.horizon, target.executors != current.executors)
            if gain <= needed:
                target = current
                reason = "a change would gain less than it costs"
                held = f"the cheapest plan, but it saves {gain:.3g} and must save {needed:.3g}"
        self._placed = True
        forecast_by, forecast_share = self._forecaster.carrier() or (None, None)
        return replace(
            self._decided(measurement, target, reason),
            plan=plan,
            expected_arrivals_per_s=expected,
            alternatives=rejected_moves(problem, plan, target, held),
            power_basis=self._resources.figure.words,
            cooling_down=cooling_down,
            at_once=not self._may_stay(current),
            forecast_by=forecast_by,
            forecast_share=forecast_share,
        )

    @property
    def memory(self) -> RateMemory | None:
        """What it remembers of other days; None where its forecast has no memory."""
        return self._forecaster.memory

    @memory.setter
    def memory(self, memory: RateMemory | None) -> None:
        self._forecaster.memory = memory

    @property
    def _locked(self) -> bool:
        since, dwell = self._pipeline.steps_since_change, self._options.limits.min_dwell_steps
        return since is not None and since < dwell

    def _planned(
        self,
        current: Configuration,
        scenarios: FloatArray,
        expected: FloatArray,
        backlog_items: float,
        bounds: Bounds,
    ) -> tuple[HorizonProblem, Plan, str]:
        """The problem, its plan and what speaks for it."""
        budget = self._options.limits.node_budget
        whole = self._problem(current, scenarios, expected, backlog_items, bounds)
        problem = restricted(whole, bounds.space)
        plan = solve(problem, node_budget=budget)
        price = self._return_price()
        if not price or not self._way_back.needed(plan):
            return problem, plan, CHEAPEST
        curve = self._curve(whole.qos)
        with_room = curve._replace(target_s=curve.target_s - self._latency.cold_excess_s)
        recent = whole.constraints.recent_requests
        rates = self._scenarios.with_return(scenarios, self._rhythm.warm_period_s)
        room = self._stage_costs(rates, with_room, recent, bounds)
        highest = rates.max(axis=1, keepdims=True)
        lasting_room = self._stage_costs(highest, with_room, (), bounds)[0]
        latency_s = whole.qos.latency_s
        cautious = self._way_back.required(whole, latency_s(room), latency_s(lasting_room))
        cautious = restricted(cautious, bounds.space)
        safe = solve(cautious, node_budget=budget)
        if not self._way_back.pays(problem, plan, safe, price):
            return problem, plan, CHEAPEST
        return cautious, safe, SAFEST

    def _return_price(self) -> float:
        """What it costs that an executor comes back, in violated steps; 0 where it is soon warm, or
        nothing is given up by choice."""
        limits = self._options.limits
        limited = limits.power_cap_w is not None or limits.energy_budget_j is not None
        excess_s = self._latency.cold_excess_s
        if limited or not self._placed or excess_s <= COLD_SHARE * self._target_s:
            return 0.0
        # Of warm executors, as a cold batch's own length has the excess in it already.
        late_s = self._rhythm.warm_period_s + excess_s
        return self._weights.latency * late_s / self._step_s

    def _learn(self, measurement: Measurement) -> float:
        """Update every estimate; returns the items beyond those a healthy system holds."""
        step_s = self._step_s
        self._rhythm.observe(measurement)
        self._resources.observe(measurement)
        if measurement.arrivals_per_s is not None:
            self._arrivals_per_s = measurement.arrivals_per_s
        # Of the last rate that is known: in a gap rows in flight are no backlog.
        healthy_items = self._arrivals_per_s * self._target_s
        had_backlog = self._items_in_system > 2.0 * healthy_items
        age_steps = measurement.arrivals_age_s / step_s
        self._forecaster.update(
            measurement.arrivals_per_s, age_steps, measurement.clock_s, self._clock_step_s
        )
        if measurement.arrivals_per_s is not None and measurement.completions_per_s is not None:
            growth = (measurement.arrivals_per_s - measurement.completions_per_s) * step_s
            self._items_in_system = max(self._items_in_system + growth, 0.0)
            latency_s = measurement.latency_s
            if latency_s is not None and latency_s <= self._target_s:
                # First come, first served: what comes out in time has left nothing waiting. A sum
                # alone would never lose what batches that end in bursts once added to it.
                self._items_in_system = min(self._items_in_system, healthy_items)
        if measurement.backlog_items is not None:
            self._items_in_system = measurement.backlog_items  # counted, not summed up
        if measurement.arrivals_per_s is None and measurement.latency_kind == "at least":
            # No batch ends and none tells a rate: what waits has come at the last one.
            waiting_items = self._arrivals_per_s * (measurement.latency_s or 0.0)
            self._items_in_system = max(self._items_in_system, waiting_items)
            measurement = replace(measurement, arrivals_per_s=self._arrivals_per_s)
        self._latency.observe(measurement, had_backlog)
        return max(self._items_in_system - 2.0 * healthy_items, 0.0)

    def _problem(
        self,
        current: Configuration,
        scenarios: FloatArray,
        expected: FloatArray,
        backlog_items: float,
        bounds: Bounds,
    ) -> HorizonProblem:
        limits = self._options.limits
        dead_time_steps = self._pipeline.dead_time_steps(self._reach.dead_time_steps)
        recent_requests = self._pipeline.recent_requests(dead_time_steps)
        qos = self._qos()
        costs = self._stage_costs(scenarios, self._curve(qos), recent_requests, bounds)
        backlog = None
        if backlog_items > 0:
            backlog = Backlog(
                initial_items=backlog_items,
                arrivals_per_s=expected,
                service_per_s=self._latency.service_per_s(),
                step_s=self._step_s,
            )
        executor_unit = frequency_unit = 1
        if self._options.cost.scaling == "normalised":
            executor_unit = self._space.max_executors
            frequency_unit = len(self._space.frequencies_khz)
        return HorizonProblem(
            space=self._space,
            current=current,
            latency_s=qos.latency_s(costs),
            qos=qos,
            resource_cost=self._resources.cost,
            executor_switching=self._weights.switching / executor_unit**2,
            frequency_switching=self._weights.switching / frequency_unit**2,
            constraints=Constraints(
                max_added_per_step=limits.max_added_per_step,
                max_removed_per_step=limits.max_removed_per_step,
                min_dwell_steps=limits.min_dwell_steps,
                dead_time_steps=dead_time_steps,
                recent_requests=recent_requests,
                steps_since_change=self._pipeline.steps_since_change,
                power_w=self._resources.power_w,
                power_cap_w=limits.power_cap_w,
                energy_budget_j=limits.energy_budget_j,
                step_s=self._step_s,
            ),
            backlog=backlog,
        )

    def _qos(self) -> QosCurve:
        """The paper's exponential, normalised: 0 at the fastest service, the weight at target."""
        weight, target_s = self._weights.latency, self._target_s
        if self._options.cost.scaling == "paper":
            return QosCurve(weight, 0.0, target_s)
        floor_s = self._latency.floor_s
        # A target below the fastest service cannot be met; the curve must stay a curve.
        scale_s = max(target_s - floor_s, 0.1 * target_s)
        return QosCurve(weight, floor_s, scale_s, mode="normalised")

    def _curve(self, qos: QosCurve) -> LatencyCurve:
        """What a latency costs: mostly whether it breaks the target, a little how long it is."""
        if self._options.cost.scaling == "paper":
            return curve_of(qos, 1.0, self._target_s, 0.0, SHARPNESS)
        return curve_of(qos, LENGTH_SHARE, self._target_s, qos.weight, SHARPNESS)

    def _stage_costs(
        self,
        scenarios: FloatArray,
        curve: LatencyCurve,
        recent_requests: tuple[int, ...],
        bounds: Bounds,
    ) -> FloatArray:
        """(h, N, F): mean or conditional value at risk over the scenarios (S, h)."""
        recent = [self._space.executor_index(n) for n in recent_requests]
        most = self._space.executor_index(bounds.space.max_executors) + 1
        most_active = active_caps(np.array(recent, dtype=np.int64), scenarios.shape[1], most)
        ratios = self._latency.scenario_ratios(len(scenarios))
        scenarios = np.ascontiguousarray(scenarios)  # another layout would be compiled anew
        risk, tail = self._options.forecast.risk, 1.0 - self._options.forecast.risk_quantile
        if risk == "mean":
            return self._latency.mean_cost(scenarios, ratios, most_active, curve)
        each = [
            self._latency.mean_cost(scenarios[[s]], ratios[[s]], most_active, curve)
            for s in range(len(scenarios))
        ]
        return at_risk(np.stack(each), risk, tail)

    def _uses_less(self, target: Configuration, current: Configuration) -> bool:
        """Fewer executors or a lower frequency: less capacity to fall back on."""
        return target.executors < current.executors or target.frequency_khz < current.frequency_khz

    def _may_stay(self, current: Configuration) -> bool:
        """Whether the current configuration keeps the power cap and the energy budget."""
        limits = self._options.limits
        power_w = self._resources.power_w[self._space.index(current)]
        energy_j = power_w * self._step_s * self._reach.horizon_steps
        capped = limits.power_cap_w is not None and power_w > limits.power_cap_w
        spent = limits.energy_budget_j is not None and energy_j > limits.energy_budget_j
        return not (capped or spent)

    def _gain(self, problem: HorizonProblem, plan_cost: float) -> float:
        """What the plan saves over the horizon against just staying."""
        stay = (problem.current,) * problem.horizon
        return cost_terms(problem, stay).total - plan_cost

    def _needed_gain(self, horizon: int, moves_executors: bool) -> float:
        """A change must gain, per step, more than its price over just staying.

        The price is the switching weight. A high latency weight raises it, or else every ripple of
        the latency would be worth a change. A low one lowers it, down to a third: to sit out
        violations because a change is dear is the wrong way to save. A frequency acts at once and
        is changed back at once, so it need not pay for every step of a long horizon.
        """
        if self._options.cost.scaling == "paper":
            return -inf
        price = min(
            self._weights.switching * max(1.0, self._weights.latency),
            max(self._weights.latency / 7.0, self._weights.switching / 3.0),
        )
        return price * (horizon if moves_executors else min(horizon, FREQUENCY_STEPS))

    def _decided(self, measurement: Measurement, target: Configuration, reason: str) -> Decision:
        return Decision(
            target, reason, key_owners=self._routing.table(measurement, target.executors)
        )
