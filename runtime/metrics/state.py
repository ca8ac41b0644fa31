"""Everything the views show, kept up to date record by record; pure but for the hosts it is given.

The same object is behind the page, its JSON, the metrics and the terminal. It is bounded however
long a journal is, and indifferent to whether its records come from a file or a running loop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from mpc.values import Alternative, Configuration, CostTerms, LatencyKind, Measurement
from runtime.control.journal import StepRecord
from runtime.metrics.decisions import DecisionLog
from runtime.metrics.facts import Facts
from runtime.metrics.fan import Expected, ForecastErrors
from runtime.metrics.hosts import HostView, from_events
from runtime.metrics.points import History, Point

Value = TypeVar("Value")
WINDOW_S = 3600.0
MOST_POINTS = 3600
_FIGURES = ("arrivals_per_s", "latency_s", "backlog_rows")
"""Of a query, told when a batch ends."""
FREQUENCY_TOLERANCE = 0.01
"""Kernels round frequencies to what the processor has."""


@dataclass(frozen=True, slots=True)
class Latest:
    """The last step, in more detail than a point of the history."""

    step: int
    at_s: float
    mode: str
    words: str
    target: Configuration
    """After the guards."""
    fan: tuple[Expected, ...]
    """Of the steps to come."""
    plan: tuple[Configuration, ...]
    """From this step on."""
    cost: CostTerms | None
    lower_bound: float | None
    proven: bool | None
    alternatives: tuple[Alternative, ...]
    latency_kind: LatencyKind | None
    """Of the last latency that is known."""
    backlog_items: float | None
    dead_time_s: float
    took_s: float | None
    useful_executors: int | None
    queries: tuple[Mapping[str, Any], ...]
    """While one waits for its batch or trigger, with the figures of its last batch."""


@dataclass(frozen=True, slots=True)
class LastKnown:
    """What is told when a batch ends and not in between: of the last step that had it."""

    arrivals_per_s: float | None = None
    completions_per_s: float | None = None
    latency_s: float | None = None
    latency_kind: LatencyKind | None = None

    def after(self, measured: Measurement) -> "LastKnown":
        def newer(told: Value | None, before: Value | None) -> Value | None:
            return before if told is None else told

        return LastKnown(
            newer(measured.arrivals_per_s, self.arrivals_per_s),
            newer(measured.completions_per_s, self.completions_per_s),
            newer(measured.latency_s, self.latency_s),
            newer(measured.latency_kind, self.latency_kind),
        )


class RunState:
    def __init__(
        self,
        facts: Facts,
        window_s: float | None = WINDOW_S,
        most_points: int = MOST_POINTS,
    ) -> None:
        """`window_s`: how much history is kept; None: all of it, ever more thinly."""
        self.facts = facts
        self.window_s = window_s
        self.history = History(window_s, most_points)
        self.decisions = DecisionLog()
        self.record: StepRecord | None = None
        """The last one."""
        self.told_hosts: tuple[HostView, ...] = ()
        """As the events of the journal tell of them."""
        self.measured_at_s: float | None = None
        """Of the last step whose arrivals are known."""
        self.last_known = LastKnown()
        self.unapplied_since_s: dict[str, float | None] = {"executors": None, "frequency": None}
        """Since when what runs is not what was asked for."""
        self.step_energy_j = 0.0
        """Of the last step."""
        self._queries: tuple[Mapping[str, Any], ...] = ()
        self._errors = ForecastErrors()
        self._steps = 0
        self._late_steps = 0
        self._energy_j = 0.0

    @property
    def points(self) -> Sequence[Point]:
        return self.history.points

    @property
    def step_s(self) -> float:
        """Of the configuration, otherwise as the last steps came."""
        if self.facts.step_s is not None:
            return self.facts.step_s
        last = self.points[-2:]
        if len(last) < 2:
            return 1.0
        return (last[1].at_s - last[0].at_s) / max(last[1].step - last[0].step, 1)

    def add(self, record: StepRecord) -> bool:
        """False for one that is known already: read from the journal, and then published."""
        last, measured = self.record, record.measurement
        if last is not None and (
            measured.step <= last.measurement.step and record.at_s <= last.at_s
        ):
            return False
        expected = self._errors.observe(record, self.step_s)
        self.step_energy_j = self._energy_of(record, last)
        self._energy_j += self.step_energy_j
        latency_s, target_s = measured.latency_s, self.facts.target_latency_s
        late = latency_s is not None and target_s is not None and latency_s > target_s
        self._steps += latency_s is not None
        self._late_steps += late
        if measured.arrivals_per_s is not None:
            self.measured_at_s = record.at_s
        self.last_known = self.last_known.after(measured)
        self._note_unapplied(record)
        self._queries = _with_last_figures(record.queries, self._queries)
        self.told_hosts = from_events(self.told_hosts, record.events)
        self.decisions.add(record)
        self.record = record
        self.history.add(
            Point(
                at_s=record.at_s,
                step=measured.step,
                arrivals_per_s=measured.arrivals_per_s,
                arrivals_age_s=measured.arrivals_age_s,
                expected_per_s=None if expected is None else expected.per_s,
                low_per_s=None if expected is None else expected.low_per_s,
                high_per_s=None if expected is None else expected.high_per_s,
                latency_s=measured.latency_s,
                late=late,
                planned=planned(record),
                requested=record.applied.requested,
                observed=record.applied.observed,
                power_w=measured.power_w,
                power_source=measured.power_source,
                cost=None if record.decision.plan is None else record.decision.plan.cost,
                steps=self._steps,
                late_steps=self._late_steps,
                energy_j=self._energy_j,
            )
        )
        return True

    def latest(self) -> Latest | None:
        record, entry = self.record, self.decisions.last
        if record is None or entry is None:
            return None
        plan, measured = record.decision.plan, record.measurement
        return Latest(
            step=measured.step,
            at_s=record.at_s,
            mode=record.mode,
            words=entry.words,
            target=record.target,
            fan=self._errors.fan(record),
            plan=() if plan is None else plan.trajectory,
            cost=None if plan is None else plan.cost,
            lower_bound=None if plan is None else plan.lower_bound,
            proven=None if plan is None else plan.proven,
            alternatives=record.decision.alternatives,
            latency_kind=self.last_known.latency_kind,
            backlog_items=measured.backlog_items,
            dead_time_s=record.dead_time_s,
            took_s=record.took_s,
            useful_executors=record.measurement.useful_executors,
            queries=self._queries,
        )

    def _energy_of(self, record: StepRecord, last: StepRecord | None) -> float:
        """Power is the mean over a step; what was drawn in steps that were missed is not known."""
        power_w = record.measurement.power_w
        if power_w is None:
            return 0.0
        duration_s = self.step_s
        if last is not None and record.measurement.step == last.measurement.step + 1:
            duration_s = max(record.measurement.time_s - last.measurement.time_s, 0.0)
        return power_w * duration_s

    def _note_unapplied(self, record: StepRecord) -> None:
        requested, observed = record.applied.requested, record.applied.observed
        differs = {
            "executors": requested.executors != observed.executors,
            "frequency": abs(requested.frequency_khz - observed.frequency_khz)
            > FREQUENCY_TOLERANCE * requested.frequency_khz,
        }
        for knob, differing in differs.items():
            since_s = self.unapplied_since_s[knob]
            self.unapplied_since_s[knob] = (since_s or record.at_s) if differing else None


def _with_last_figures(
    queries: Sequence[Mapping[str, Any]], before: Sequence[Mapping[str, Any]]
) -> tuple[Mapping[str, Any], ...]:
    last = {each.get("query"): each for each in before}

    def with_last(query: Mapping[str, Any]) -> Mapping[str, Any]:
        if query.get("activity") != "waiting":
            return query
        known = last.get(query.get("query"), {})
        return {**query, **{name: known.get(name) for name in _FIGURES if query.get(name) is None}}

    return tuple(with_last(query) for query in queries)


def planned(record: StepRecord) -> Configuration:
    """What the optimiser wants now; of policies that do not plan, what they decided."""
    plan = record.decision.plan
    return plan.trajectory[0] if plan is not None and plan.trajectory else record.decision.target
