"""Which constraint a decision ran into: bounds, limits, dead time, guards.

A limit is active where the decision stands right at it: one executor, one frequency or one step
further it would be broken.
"""

from collections.abc import Iterator

from mpc.values import Configuration, ConfigurationSpace
from runtime.build import live_power
from runtime.config import Config
from runtime.control.journal import StepRecord
from runtime.control.starts import Start
from runtime.report.text import seconds
from runtime.report.words import event_in_words, place


def active_limits(record: StepRecord, start: Start | None) -> tuple[str, ...]:
    """In words; without `start` only those that the record itself tells of."""
    found = [f"guard: {event_in_words(e)}" for e in record.events if e.kind.is_guard]
    found += _dead_time(record)
    if start is not None:
        found += _bounds(record.target, start.space)
        found += _rates(record, start.config)
        found += _power(record, start)
    plan = record.decision.plan
    if plan is not None:
        found += [f"limits.{_OPTION[name]}: no plan could keep it" for name in plan.relaxed]
        if not plan.proven:
            gap = plan.cost.total - plan.lower_bound
            found.append(
                f"limits.node_budget: the search ended after {plan.nodes:,} nodes, at most "
                f"{gap:.3g} from the best plan"
            )
    return tuple(found)


_OPTION = {"power_cap": "power_cap_w", "energy_budget": "energy_budget_j"}


def _dead_time(record: StepRecord) -> Iterator[str]:
    plan, before = record.decision.plan, record.measurement.requested
    applied = record.applied
    coming = applied.requested.executors - applied.observed.executors
    if coming > 0:
        yield (
            f"dead time: {coming} of {applied.requested.executors} executors that were asked for "
            "do not serve yet"
        )
    most = max((u.executors for u in plan.trajectory), default=0) if plan is not None else 0
    if record.dead_time_s > 0 and most > before.executors:
        yield f"dead time: an executor asked for now serves in {seconds(record.dead_time_s)}"


def _bounds(target: Configuration, space: ConfigurationSpace) -> Iterator[str]:
    if target.executors >= space.max_executors:
        yield f"executors: {space.max_executors} are the most"
    if target.executors <= space.min_executors:
        yield f"executors: {space.min_executors} are the fewest"
    if len(space.frequencies_khz) > 1:
        if target.frequency_khz >= space.frequencies_khz[-1]:
            yield f"frequency: {space.frequencies_khz[-1] / 1e6:.3g} GHz is the highest"
        if target.frequency_khz <= space.frequencies_khz[0]:
            yield f"frequency: {space.frequencies_khz[0] / 1e6:.3g} GHz is the lowest"


def _rates(record: StepRecord, config: Config) -> Iterator[str]:
    added = record.decision.target.executors - record.measurement.requested.executors
    limits = config.limits
    if limits.max_added_per_step is not None and added >= limits.max_added_per_step:
        yield f"limits.max_added_per_step = {limits.max_added_per_step}: reached"
    if limits.max_removed_per_step is not None and -added >= limits.max_removed_per_step:
        yield f"limits.max_removed_per_step = {limits.max_removed_per_step}: reached"


def _power(record: StepRecord, start: Start) -> Iterator[str]:
    limits, space, plan = start.config.limits, start.space, record.decision.plan
    if plan is None or (limits.power_cap_w is None and limits.energy_budget_j is None):
        return
    power = live_power(start.config, start.space)

    def power_w(configuration: Configuration) -> float:
        return float(power.power_w(configuration.executors, configuration.frequency_khz))

    first = plan.trajectory[0]
    more = _next_up(first, space)
    if limits.power_cap_w is not None:
        above = [u for u in more if power_w(u) > limits.power_cap_w]
        if above:
            yield (
                f"limits.power_cap_w = {limits.power_cap_w:g}: {place(above[0])} would take "
                f"{power_w(above[0]):.3g} W"
            )
    if limits.energy_budget_j is not None:
        step_s = start.config.horizon.step_s
        energy_j = sum(power_w(u) for u in plan.trajectory) * step_s
        steps = [(power_w(u) - power_w(first)) * step_s for u in more]
        if steps and energy_j + min(steps) > limits.energy_budget_j:
            yield (
                f"limits.energy_budget_j = {limits.energy_budget_j:g}: the plan takes "
                f"{energy_j:.3g} J"
            )


def _next_up(configuration: Configuration, space: ConfigurationSpace) -> list[Configuration]:
    n = space.executor_index(configuration.executors)
    f = space.frequency_index(configuration.frequency_khz)
    more = []
    if configuration.executors < space.max_executors:
        more.append(space.at(n + 1, f))
    if f + 1 < len(space.frequencies_khz):
        more.append(space.at(n, f + 1))
    return more
