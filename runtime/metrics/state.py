"""Everything the views show, kept up to date record by record; pure but for the hosts it is given.

The same object is behind the page, its JSON, the metrics and the terminal. It is bounded however
long a journal is, and indifferent to whether its records come from a file or a running loop.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mpc.events import EventKind
from mpc.values import Alternative, Configuration, CostTerms
from runtime.control.journal import StepRecord
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.decisions import DecisionLog
from runtime.metrics.facts import Facts
from runtime.metrics.fan import ForecastErrors
from runtime.metrics.hosts import HostView, from_events
from runtime.metrics.metric import Catalogue
from runtime.metrics.points import History, StepPoint
from runtime.metrics.view import View

WINDOW_S = 3600.0
MOST_POINTS = 3600
_FIGURES = ("arrivals_per_s", "latency_s", "backlog_rows")
"""Of a query, reported when a batch ends."""
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
    plan: tuple[Configuration, ...]
    """From this step on."""
    cost: CostTerms | None
    alternatives: tuple[Alternative, ...]
    queries: tuple[Mapping[str, Any], ...]
    """While one waits for its batch or trigger, with the figures of its last batch."""
    metrics: Mapping[str, Mapping[str, float]]
    """By name and the value of its label; what a batch reports, as it was last reported."""


class RunState:
    def __init__(
        self,
        facts: Facts,
        window_s: float | None = WINDOW_S,
        most_points: int = MOST_POINTS,
        catalogue: Catalogue = CATALOGUE,
    ) -> None:
        """`window_s`: how much history is kept; None: all of it, ever more thinly."""
        self.facts = facts
        self.window_s = window_s
        self.catalogue = catalogue
        self.history = History(window_s, most_points)
        self.decisions = DecisionLog()
        self.reported_hosts: tuple[HostView, ...] = ()
        """As the events of the journal tell of them."""
        self.failed_in_a_row = 0
        """The last steps that failed, one after the other."""
        self._view = View(facts=facts, step_s=self.step_s, now_s=0.0, unapplied_s=_applied())
        self._by_batch: dict[str, dict[str, float]] = {}
        """What batches reported last, by metric."""
        self._totals = {metric.name: 0.0 for metric in catalogue.totals}
        self._unapplied_since_s: dict[str, float | None] = dict.fromkeys(_applied())
        self._queries: tuple[Mapping[str, Any], ...] = ()
        self._errors = ForecastErrors()

    @property
    def record(self) -> StepRecord | None:
        """The last one."""
        return self._view.last

    @property
    def last_view(self) -> View:
        """Of the last step alone, without what is expected of those to come."""
        return self._view

    @property
    def points(self) -> Sequence[StepPoint]:
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
        knows_arrivals = measured.arrivals_per_s is not None
        view = View(
            facts=self.facts,
            step_s=self.step_s,
            now_s=record.at_s,
            last=record,
            due=self._errors.observe(record, self.step_s),
            energy_j=self._energy_of(record, last),
            measured_at_s=record.at_s if knows_arrivals else self._view.measured_at_s,
            latency_kind=measured.latency_kind or self._view.latency_kind,
            unapplied_s=self._unapplied_s(record),
        )
        self._view = view
        self._queries = _with_last_figures(record.queries, self._queries)
        self.reported_hosts = from_events(self.reported_hosts, record.events)
        failed = any(event.kind is EventKind.STEP_FAILED for event in record.events)
        self.failed_in_a_row = self.failed_in_a_row + 1 if failed else 0
        self.decisions.add(record)
        self.history.add(
            StepPoint(
                at_s=record.at_s,
                step=measured.step,
                age_s=measured.arrivals_age_s,
                worst=measured.latency_s,
                values=self._values(view),
            )
        )
        return True

    def view(self, hosts: tuple[HostView, ...] = (), now_s: float | None = None) -> View:
        """What metrics are taken from: the last step, with the forecast of those to come."""
        view = self._view
        fan = () if view.last is None else self._errors.fan(view.last)
        now_s = view.now_s if now_s is None else now_s
        return replace(view, hosts=hosts, now_s=now_s, fan=fan, step_s=self.step_s)

    def metrics(self, view: View) -> dict[str, dict[str, float]]:
        """Gauges by name and the value of their label."""
        return {
            metric.name: self._by_batch.get(metric.name, {})
            if metric.by_batch
            else metric.values(view)
            for metric in self.catalogue.metrics
            if metric.type == "gauge"
        }

    def latest(self, view: View | None = None) -> Latest | None:
        record, entry = self.record, self.decisions.last
        if record is None or entry is None:
            return None
        plan = record.decision.plan
        return Latest(
            step=record.measurement.step,
            at_s=record.at_s,
            mode=record.mode,
            words=entry.words,
            target=record.target,
            plan=() if plan is None else plan.trajectory,
            cost=None if plan is None else plan.cost,
            alternatives=record.decision.alternatives,
            queries=self._queries,
            metrics=self.metrics(view or self.view()),
        )

    def _values(self, view: View) -> dict[str, float]:
        for metric in self.catalogue.metrics:
            if metric.by_batch and (reported := metric.values(view)):
                self._by_batch[metric.name] = reported
        for metric in self.catalogue.totals:
            self._totals[metric.name] += sum(metric.values(view).values())
        drawn = {
            curve.key: value
            for metric, curve in self.catalogue.curves
            if (value := metric.drawn(curve, view)) is not None
        }
        return {**drawn, **self._totals}

    def _energy_of(self, record: StepRecord, last: StepRecord | None) -> float:
        """Power is the mean over a step; what was drawn in steps that were missed is not known."""
        power_w = record.measurement.power_w
        if power_w is None:
            return 0.0
        duration_s = self.step_s
        if last is not None and record.measurement.step == last.measurement.step + 1:
            duration_s = max(record.measurement.time_s - last.measurement.time_s, 0.0)
        return power_w * duration_s

    def _unapplied_s(self, record: StepRecord) -> dict[str, float]:
        requested, observed = record.applied.requested, record.applied.observed
        differs = {
            "executors": requested.executors != observed.executors,
            "frequency": abs(requested.frequency_khz - observed.frequency_khz)
            > FREQUENCY_TOLERANCE * requested.frequency_khz,
        }
        for knob, differing in differs.items():
            since_s = self._unapplied_since_s[knob]
            self._unapplied_since_s[knob] = (since_s or record.at_s) if differing else None
        return {
            knob: 0.0 if since_s is None else record.at_s - since_s
            for knob, since_s in self._unapplied_since_s.items()
        }


def _applied() -> dict[str, float]:
    return {"executors": 0.0, "frequency": 0.0}


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
