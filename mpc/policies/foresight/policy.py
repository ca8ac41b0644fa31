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
from dataclasses import replace
from math import inf

import numpy as np
from scipy.special import expit

from mpc.batch_rhythm import BatchRhythm
from mpc.bounds import Bounds
from mpc.horizon.part import restricted
from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.horizon.search import solve, warm_up
from mpc.horizon.trajectory import cost_terms
from mpc.policies.context import Context
from mpc.policies.foresight.models import make_latency_model, make_scenario_forecaster
from mpc.policies.foresight.options import ForesightOptions
from mpc.policies.foresight.reach import reach_of
from mpc.policies.foresight.rejected import rejected_moves
from mpc.policies.routing import SteadyRouting
from mpc.risk import at_risk
from mpc.values import Configuration, Decision, FloatArray, Measurement, Plan

SHARPNESS = 30.0
"""How suddenly a violation counts around the target: at 30, nine tenths of its cost are reached
within a fourteenth of the way from the fastest service to the target."""

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


class ForesightPolicy:
    def __init__(self, options: ForesightOptions, context: Context) -> None:
        warm_up()
        space = context.space
        self._space = space
        self._options = options
        self._weights = options.cost.weights
        self._target_s = context.target_latency_s
        self._step_s = context.step_s
        reach = reach_of(options, context)
        self._horizon_steps = reach.horizon_steps
        self._dead_time_steps = reach.dead_time_steps
        self._forecaster = make_scenario_forecaster(options, context, reach.horizon_steps)
        self._latency = make_latency_model(options, context)
        self._routing = SteadyRouting()
        self._items_in_system = 0.0
        self._arrivals_per_s = 0.0
        self._rhythm = BatchRhythm(context.step_s)
        self._foreseen_per_s = inf
        """The highest rate that the scenarios had for the step that is measured next."""
        self._requests: deque[int] = deque(maxlen=self._dead_time_steps)
        executors = space.executors.astype(np.float64)[:, None]
        frequencies_khz = np.asarray(space.frequencies_khz, dtype=np.float64)[None, :]
        power_w = context.power.power_w(executors, frequencies_khz)
        used = power_w if options.cost.resource == "power" else executors + 0.0 * power_w
        if options.cost.scaling == "normalised":
            used = used / used.max()
        self._resource_cost = self._weights.resource * used
        self._power_w = power_w
        affordable = TABLE_CELLS // (reach.horizon_steps * power_w.size)
        self._scenarios = min(options.forecast.scenarios, max(affordable, FEWEST_SCENARIOS))
        self._steps_since_change: int | None = None
        self._forgone = 0.0
        """What executors have cost since a plan could do without them."""
        self._placed = False
        """The first plan places the application: nobody has settled there yet, so it is free."""

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        backlog_items = self._learn(measurement)
        current = bounds.nearest(measurement.requested)
        horizon = self._horizon_steps
        scenarios = self._forecaster.scenarios(horizon, self._scenarios)
        expected = self._forecaster.forecast(horizon)
        if scenarios is None or expected is None or not self._latency.ready:
            return self._decided(measurement, current, "nothing measured yet: hold")
        scenarios = self._with_surprise(scenarios, measurement.arrivals_per_s)
        scenarios = self._with_gathered(scenarios)
        problem = self._problem(current, scenarios, expected, backlog_items)
        problem = restricted(problem, bounds.space)
        plan = solve(problem, node_budget=self._options.limits.node_budget)
        reason, held = "cheapest plan over the horizon", None
        keeping = self._keeping(problem, plan)
        if keeping is not None:
            problem, plan = keeping
            reason = "cheapest plan that keeps executors, which are slow to come back"
        target = plan.trajectory[0]
        cooling_down = target == current and self._locked
        if cooling_down:
            dwell = self._options.limits.min_dwell_steps
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
        since, dwell = self._steps_since_change, self._options.limits.min_dwell_steps
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
        limits = self._options.limits
        limited = limits.power_cap_w is not None or limits.energy_budget_j is not None
        price = self._return_price()
        if first.executors >= current.executors or limited or not price or not self._placed:
            return None
        constraints = replace(problem.constraints, max_removed_per_step=0)
        kept = replace(problem, constraints=constraints)
        keeping = solve(kept, node_budget=self._options.limits.node_budget)
        self._forgone += max(keeping.cost.total - plan.cost.total, 0.0) / problem.horizon
        if self._forgone >= price:
            self._forgone = 0.0
            return None
        return kept, keeping

    def _return_price(self) -> float:
        """What it costs that an executor comes back, in violated steps; 0 where it is soon warm."""
        excess_s = self._latency.cold_excess_s
        if excess_s <= COLD_SHARE * self._target_s:
            return 0.0
        # Of warm executors, as a cold batch's own length has the excess in it already.
        late_s = self._rhythm.warm_period_s + excess_s
        return self._weights.latency * late_s / self._step_s

    def _learn(self, measurement: Measurement) -> float:
        """Update every estimate; returns the items beyond those a healthy system holds."""
        step_s = self._step_s
        self._rhythm.observe(measurement)
        if measurement.arrivals_per_s is not None:
            self._arrivals_per_s = measurement.arrivals_per_s
        # Of the last rate that is known: in a gap rows in flight are no backlog.
        healthy_items = self._arrivals_per_s * self._target_s
        had_backlog = self._items_in_system > 2.0 * healthy_items
        age_steps = measurement.arrivals_age_steps(step_s)
        self._forecaster.update(measurement.arrivals_per_s, age_steps)
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
        before = round(self._rhythm.period_s / self._step_s) - 1
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
        options, limits = self._options, self._options.limits
        qos, tail = self._qos(), 1.0 - options.slo.quantile
        costs = self._latency_cost(qos, self._latency.predict_s(scenarios))
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
            latency_s=qos.latency_s(at_risk(costs, options.forecast.risk, tail)),
            qos=qos,
            resource_cost=self._resource_cost,
            executor_switching=self._weights.switching / executor_unit**2,
            frequency_switching=self._weights.switching / frequency_unit**2,
            constraints=Constraints(
                max_added_per_step=limits.max_added_per_step,
                max_removed_per_step=limits.max_removed_per_step,
                min_dwell_steps=limits.min_dwell_steps,
                dead_time_steps=self._dead_time_steps,
                recent_requests=self._recent_requests(current),
                steps_since_change=self._steps_since_change,
                power_w=self._power_w,
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

    def _latency_cost(self, qos: QosCurve, latency_s: FloatArray) -> FloatArray:
        """What a latency costs: mostly whether it breaks the target, a little how long it is."""
        if self._options.cost.scaling == "paper":
            return qos.cost(latency_s)
        distance = (latency_s - self._target_s) / qos.scale_s
        violation = expit(SHARPNESS * distance)
        return np.asarray(qos.weight * violation + LENGTH_SHARE * qos.cost(latency_s))

    def _uses_less(self, target: Configuration, current: Configuration) -> bool:
        """Fewer executors or a lower frequency: less capacity to fall back on."""
        return target.executors < current.executors or target.frequency_khz < current.frequency_khz

    def _may_stay(self, current: Configuration) -> bool:
        """Whether the current configuration keeps the power cap and the energy budget."""
        limits = self._options.limits
        power_w = self._power_w[self._space.index(current)]
        energy_j = power_w * self._step_s * self._horizon_steps
        capped = limits.power_cap_w is not None and power_w > limits.power_cap_w
        spent = limits.energy_budget_j is not None and energy_j > limits.energy_budget_j
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
        if self._options.cost.scaling == "paper":
            return -inf
        price = min(
            self._weights.switching * max(1.0, self._weights.latency),
            max(self._weights.latency / 7.0, self._weights.switching / 3.0),
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
