"""Why one decision was made: what was measured, expected, weighed, limited, asked for and came.

Everything comes from the journal, and from the configuration noted beside it; what they do not say
is left out. Policies that plan nothing have no costs to tell.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from forecasting.sparse import bridged, where_they_belong
from mpc.values import Configuration, CostTerms, Measurement
from runtime.control.journal import StepRecord
from runtime.control.starts import Start
from runtime.insight.limits import active_limits
from runtime.insight.summary import step_of
from runtime.report.words import events_in_words, forecast_carrier, why


@dataclass(frozen=True, slots=True)
class ForecastBesideArrivals:
    """One step of the forecast, and what then came."""

    steps_ahead: int
    expected_per_s: float
    arrived_per_s: float | None
    """None where it is not known (yet)."""

    @property
    def error(self) -> float | None:
        """Share of what came; above 0: more was expected."""
        if not self.arrived_per_s:
            return None
        return self.expected_per_s / self.arrived_per_s - 1.0


@dataclass(frozen=True, slots=True)
class Weighed:
    """A configuration that was weighed against others."""

    configuration: Configuration
    cost: CostTerms | None
    total: float | None
    chosen: bool
    reason: str


@dataclass(frozen=True, slots=True)
class Explanation:
    step: int
    at_s: float
    mode: str
    why: str
    measured: Measurement
    target_latency_s: float | None
    late_quantile: float | None
    expected_before_per_s: float | None
    """For the step that the measured arrivals belong to, by the decision before it."""
    expected: tuple[ForecastBesideArrivals, ...]
    forecast_by: str
    """The forecast that has the largest share in it, in words; "" where there is but one."""
    weighed: tuple[Weighed, ...]
    limits: tuple[str, ...]
    """What bound the decision, in words."""
    plan: tuple[Configuration, ...]
    wanted: Configuration
    """By the policy."""
    requested: Configuration
    """After the guards."""
    observed: Configuration
    """When it was asked for."""
    observed_later: Configuration | None
    """At the last step of the plan, as far as the journal has it."""
    later_steps: int
    power_basis: str | None
    """How the power that was weighed is known."""
    dead_time_s: float
    took_s: float | None
    events: tuple[str, ...]


def explanation(records: Sequence[StepRecord], position: int, start: Start | None) -> Explanation:
    """Of one record; the others tell what came before and after it."""
    record = records[position]
    decision = record.decision
    step_s = step_of(start)
    plan = () if decision.plan is None else decision.plan.trajectory
    later = _follow(records, position, max(len(plan), 1))
    return Explanation(
        step=record.measurement.step,
        at_s=record.at_s,
        mode=record.mode,
        why=why(record),
        measured=record.measurement,
        target_latency_s=None if start is None else start.config.slo.latency_s,
        late_quantile=None if start is None else start.config.slo.quantile,
        expected_before_per_s=_expected_before(records, position, step_s),
        expected=_expected(record, _follow(records, position, len(records)), step_s),
        forecast_by=forecast_carrier(decision),
        weighed=_weighed(record),
        limits=active_limits(record, start),
        plan=plan,
        wanted=decision.target,
        requested=record.applied.requested if record.mode == "control" else record.target,
        observed=record.applied.observed,
        observed_later=later[-1].measurement.observed if later else None,
        later_steps=len(later),
        power_basis=decision.power_basis,
        dead_time_s=record.dead_time_s,
        took_s=record.took_s,
        events=tuple(events_in_words(record.events)),
    )


def _follow(records: Sequence[StepRecord], position: int, count: int) -> list[StepRecord]:
    """The next records, as long as no step is missing between them."""
    found: list[StepRecord] = []
    step = records[position].measurement.step
    for record in records[position + 1 : position + 1 + count]:
        step += 1
        if record.measurement.step != step:
            break
        found.append(record)
    return found


def _expected_before(records: Sequence[StepRecord], position: int, step_s: float) -> float | None:
    measured = records[position].measurement
    steps_ago = measured.arrivals_age_steps(step_s) + 1
    if steps_ago > position:
        return None
    before = records[position - steps_ago]
    expected = before.decision.expected_arrivals_per_s
    if before.measurement.step != measured.step - steps_ago or expected is None:
        return None
    return float(expected[0]) if len(expected) else None


def _expected(
    record: StepRecord, later: Sequence[StepRecord], step_s: float
) -> tuple[ForecastBesideArrivals, ...]:
    """Beside what came in those steps, which batches tell later."""
    expected = record.decision.expected_arrivals_per_s
    if expected is None:
        return ()
    measured = [follower.measurement for follower in later]
    reported = where_they_belong(
        [each.arrivals_per_s for each in measured],
        [each.arrivals_age_steps(step_s) for each in measured],
    )
    came = bridged(reported, max(len(expected), len(measured)))
    return tuple(
        ForecastBesideArrivals(ahead, float(rate), arrived)
        for ahead, (rate, arrived) in enumerate(zip(expected, came, strict=False), start=1)
    )


def _weighed(record: StepRecord) -> tuple[Weighed, ...]:
    """The chosen one first, the others by their cost."""
    decision = record.decision
    if decision.plan is None:
        return ()
    is_plan = decision.target == decision.plan.trajectory[0]
    chosen = Weighed(
        decision.target,
        decision.plan.cost if is_plan else None,
        decision.plan.cost.total if is_plan else None,
        True,
        decision.reason,
    )
    others = (
        Weighed(each.configuration, each.cost, each.cost.total, False, each.reason)
        for each in decision.alternatives
    )
    return (chosen, *others)
