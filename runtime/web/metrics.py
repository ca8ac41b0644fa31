"""What Prometheus reads of a controller, with units in the names.

Counters begin with the process; gauges show the last step, or, of what is told only when a batch
ends, the last that told it. What is not known has no sample.
"""

from collections import Counter
from collections.abc import Callable, Iterator

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from mpc.events import EventKind
from mpc.values import Configuration
from runtime.control.journal import StepRecord
from runtime.metrics.hosts import HostView
from runtime.metrics.state import LastKnown, RunState, planned

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_PREFIX = "foresight_controller"
_HERTZ_PER_KHZ = 1000


class ControllerMetrics:
    """Counts, and renders the text exposition."""

    def __init__(self) -> None:
        self._steps = 0
        self._late_steps = 0
        self._unmeasured_steps = 0
        self._took_s = 0.0
        self._events: Counter[str] = Counter({kind.value: 0 for kind in EventKind})
        self._energy_j: dict[str, float] = {}

    def observe(self, record: StepRecord, state: RunState) -> None:
        """After the state has taken the record."""
        measured = record.measurement
        self._steps += 1
        self._late_steps += state.points[-1].late
        self._unmeasured_steps += measured.arrivals_per_s is None
        self._took_s += record.took_s or 0.0
        for event in record.events:
            self._events[event.kind.value] += 1
        if measured.power_w is not None:
            source = measured.power_source
            self._energy_j[source] = self._energy_j.get(source, 0.0) + state.step_energy_j

    def render(self, state: RunState, hosts: tuple[HostView, ...], now_s: float) -> bytes:
        # A registry of its own: the process-wide one brings collectors nobody asked for.
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(lambda: self._families(state, hosts, now_s)))
        return generate_latest(registry)

    def _families(
        self, state: RunState, hosts: tuple[HostView, ...], now_s: float
    ) -> Iterator[Metric]:
        yield from self._counts()
        yield from _run(state, now_s)
        if state.record is not None:
            yield from _step(state.record, state.last_known)
        yield from _hosts(hosts)

    def _counts(self) -> Iterator[Metric]:
        yield SummaryMetricFamily(
            f"{_PREFIX}_step_duration_seconds",
            "Control steps, and the time from when each was due until everything was applied.",
            count_value=self._steps,
            sum_value=self._took_s,
        )
        yield CounterMetricFamily(
            f"{_PREFIX}_late_steps", "Steps with a latency above the target.", self._late_steps
        )
        yield CounterMetricFamily(
            f"{_PREFIX}_unmeasured_steps",
            "Steps whose arrivals are not known, in which nothing is scaled in.",
            self._unmeasured_steps,
        )
        events = CounterMetricFamily(
            f"{_PREFIX}_events", "Events by kind, as in the journal.", labels=("kind",)
        )
        for kind, count in self._events.items():
            events.add_metric((kind,), count)
        yield events
        energy = CounterMetricFamily(
            f"{_PREFIX}_energy_joules",
            "Energy of the worker hosts; the source says how it is known.",
            labels=("source",),
        )
        for source, joules in self._energy_j.items():
            energy.add_metric((source,), joules)
        yield energy


class _Collected:
    """A collector of what a function yields."""

    def __init__(self, families: Callable[[], Iterator[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return self._families()


def _gauge(name: str, words: str, value: float | None) -> Metric:
    family = GaugeMetricFamily(f"{_PREFIX}_{name}", words)
    if value is not None:
        family.add_metric((), value)
    return family


def _run(state: RunState, now_s: float) -> Iterator[Metric]:
    facts, record = state.facts, state.record
    yield InfoMetricFamily(
        _PREFIX,
        "The application under control.",
        value={
            "application": facts.application,
            "policy": facts.policy or "",
            "mode": record.mode if record is not None else "",
        },
    )
    yield _gauge(
        "latency_target_seconds", "Latency not to exceed (slo.latency_ms).", facts.target_latency_s
    )
    yield _gauge("step_seconds", "Length of one control step (horizon.step_s).", state.step_s)
    yield _gauge(
        "last_step_timestamp_seconds",
        "When the last control step ended, in seconds since 1970.",
        None if record is None else record.at_s,
    )
    yield _gauge(
        "measurement_age_seconds",
        "Time since the last step whose arrivals are known.",
        None if state.measured_at_s is None else max(now_s - state.measured_at_s, 0.0),
    )
    unapplied = GaugeMetricFamily(
        f"{_PREFIX}_unapplied_seconds",
        "How long what runs has not been what was asked for; 0 while it is.",
        labels=("knob",),
    )
    for knob, since_s in state.unapplied_since_s.items():
        last_s = since_s if since_s is None or record is None else record.at_s - since_s
        unapplied.add_metric((knob,), last_s or 0.0)
    yield unapplied


def _step(record: StepRecord, last_known: LastKnown) -> Iterator[Metric]:
    measured, decision = record.measurement, record.decision
    expected = decision.expected_arrivals_per_s
    yield _gauge(
        "arrivals_per_second",
        "Items that arrived per second, of the last step that told it.",
        last_known.arrivals_per_s,
    )
    yield _gauge(
        "expected_arrivals_per_second",
        "Items per second that are expected in the next step.",
        None if expected is None or not len(expected) else float(expected[0]),
    )
    yield _gauge(
        "completions_per_second",
        "Items per second with a result, of the last step that told it.",
        last_known.completions_per_s,
    )
    yield _gauge(
        "backlog_items", "Items that arrived and have no result yet.", measured.backlog_items
    )
    yield _gauge(
        "latency_seconds", "Mean latency of the last step with a result.", last_known.latency_s
    )
    yield _gauge(
        "dead_time_seconds",
        "Time from asking for an executor until it serves, as planned with.",
        record.dead_time_s,
    )
    yield from _configurations(
        {
            "planned": planned(record),
            "requested": record.applied.requested,
            "observed": record.applied.observed,
        }
    )
    power = GaugeMetricFamily(
        f"{_PREFIX}_power_watts",
        "Power of the worker hosts; the source says how it is known.",
        labels=("source",),
    )
    if measured.power_w is not None:
        power.add_metric((measured.power_source,), measured.power_w)
    yield power
    cost = GaugeMetricFamily(
        f"{_PREFIX}_plan_cost",
        "Cost of the plan over its horizon by term of the objective, without unit.",
        labels=("term",),
    )
    if decision.plan is not None:
        cost.add_metric(("latency",), decision.plan.cost.latency)
        cost.add_metric(("resource",), decision.plan.cost.resource)
        cost.add_metric(("switching",), decision.plan.cost.switching)
    yield cost


def _configurations(stages: dict[str, Configuration]) -> Iterator[Metric]:
    executors = GaugeMetricFamily(
        f"{_PREFIX}_executors", "Executors as planned, requested and observed.", labels=("stage",)
    )
    frequency = GaugeMetricFamily(
        f"{_PREFIX}_frequency_hertz",
        "CPU frequency of the hosts as planned, requested and observed.",
        labels=("stage",),
    )
    for stage, configuration in stages.items():
        executors.add_metric((stage,), configuration.executors)
        frequency.add_metric((stage,), configuration.frequency_khz * _HERTZ_PER_KHZ)
    yield executors
    yield frequency


def _hosts(hosts: tuple[HostView, ...]) -> Iterator[Metric]:
    reachable = GaugeMetricFamily(
        f"{_PREFIX}_agent_reachable", "1 while the agent of a host answers.", labels=("host",)
    )
    controlled = GaugeMetricFamily(
        f"{_PREFIX}_agent_controlled",
        "1 while this controller holds the lease of a host.",
        labels=("host",),
    )
    age = GaugeMetricFamily(
        f"{_PREFIX}_agent_reading_age_seconds",
        "Time since the last reading of an agent.",
        labels=("host",),
    )
    for host in hosts:
        reachable.add_metric((host.name,), host.condition not in ("lost", "no agent"))
        controlled.add_metric((host.name,), host.condition == "controlled")
        if host.age_s is not None:
            age.add_metric((host.name,), host.age_s)
    yield reachable
    yield controlled
    yield age
