"""Every metric of a controller, declared once; the order is that of the figures in views.

To add one, add a declaration. Only what hosts' agents expose themselves is declared elsewhere
(`runtime/agent/service/metrics.py`).
"""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence

from mpc.events import DescribedEvent, EventKind
from mpc.values import Configuration, CostTerms
from runtime.metrics.facts import Facts
from runtime.metrics.fan import ExpectedArrivals
from runtime.metrics.metric import Catalogue, Curve, Glance, Metric
from runtime.metrics.view import View
from runtime.report.charts import Chart, ChartBand, ChartLimit
from runtime.report.text import number, seconds

_HERTZ_PER_KHZ = 1000


def charts(facts: Facts) -> tuple[Chart, ...]:
    """The charts of the page, in their order."""
    return (
        Chart(
            id="arrivals",
            title="Arrival rate",
            note="items per second",
            band=ChartBand(
                "80 % range",
                "as far as eight of ten recent forecasts were off",
                "arrivals/low",
                "arrivals/high",
            ),
        ),
        Chart(
            id="latency",
            title="Latency",
            note="seconds; red: above the target",
            cap=3.0,
            limit=ChartLimit("target", facts.target_latency_s),
            marks="latency/late",
        ),
        Chart(id="executors", title="Executors", note="count", integers=True),
        Chart(id="frequency", title="CPU frequency", note="GHz", format="hertz", near=True),
        Chart(
            id="power",
            title="Power of the hosts",
            note="watts, by how it is known",
            hides_missing=True,
            limit=ChartLimit("cap", facts.power_cap_w),
        ),
        Chart(
            id="cost",
            title="Cost of the plan",
            note="weighted, over the horizon",
            stacked=True,
            cap=4.0,
        ),
    )


def _next_rate(view: View) -> float | None:
    expected = view.record.decision.expected_arrivals_per_s
    return None if expected is None or not len(expected) else float(expected[0])


def _forecast(
    read: Callable[[ExpectedArrivals], float | None], now: bool = False
) -> Callable[[View], Sequence[float | None]]:
    """From the next step on; `now`: joined to what was expected of this one."""

    def ahead(view: View) -> Sequence[float | None]:
        if not view.fan:
            return ()
        first = read(view.due) if now and view.due is not None else None
        return (first, *(read(each) for each in view.fan))

    return ahead


def _due(read: Callable[[ExpectedArrivals], float | None]) -> Callable[[View], float | None]:
    return lambda view: None if view.due is None else read(view.due)


def _stages(read: Callable[[Configuration], float], chart: str) -> tuple[Curve, ...]:
    def ahead(view: View) -> Sequence[float]:
        plan = view.record.decision.plan
        return () if plan is None else [read(each) for each in plan.trajectory]

    return (
        Curve(chart, "observed", "observed", of="observed", stepped=True, main=True),
        Curve(chart, "requested", "requested", of="requested", stepped=True),
        Curve(chart, "plan", "planned", of="planned", stepped=True, ahead=ahead),
    )


def _executors(place: Configuration) -> float:
    return place.executors


def _hertz(place: Configuration) -> float:
    return place.frequency_khz * _HERTZ_PER_KHZ


def _requested_and_planned(words: Callable[[Configuration], str]) -> Callable[[View], str]:
    return lambda view: (
        f"requested {words(view.stages['requested'])}, plan {words(view.stages['planned'])}"
    )


def _executors_note(view: View) -> str:
    most = view.facts.max_executors
    words = _requested_and_planned(lambda place: str(place.executors))(view)
    return words if most is None else f"of {most}, {words}"


def _latency_note(view: View) -> str:
    target_s = view.facts.target_latency_s
    words = "target unknown" if target_s is None else f"target {seconds(target_s)}"
    return f"{words}, {view.latency_kind}" if view.latency_kind is not None else words


def _by_source(value: Callable[[View], float]) -> Callable[[View], dict[str, float]]:
    def take(view: View) -> dict[str, float]:
        measured = view.record.measurement
        return {} if measured.power_w is None else {measured.power_source: value(view)}

    return take


def _source(view: View) -> str:
    measured = view.record.measurement
    return "not known" if measured.power_w is None else measured.power_source


def _cost(view: View) -> CostTerms | None:
    plan = view.record.decision.plan
    return None if plan is None else plan.cost


def _cost_terms(view: View) -> dict[str, float]:
    cost = _cost(view)
    if cost is None:
        return {}
    return {"latency": cost.latency, "resource": cost.resource, "switching": cost.switching}


def _cost_note(view: View) -> str:
    plan = view.record.decision.plan
    if plan is None:
        return "this policy does not plan"
    return "proven optimal" if plan.proven else f"bound {plan.lower_bound:.3f}"


def events_metric(kinds: Iterable[DescribedEvent] = EventKind) -> Metric:
    """How often each kind of event happened."""
    return Metric(
        name="events",
        unit="",
        help="Events by kind, as in the journal.",
        type="counter",
        label="kind",
        label_values=tuple(kind.value for kind in kinds),
        take=lambda view: Counter(event.kind.value for event in view.record.events),
        panel="Events per minute",
        legend="{{kind}}",
        query="60 * rate({}[5m]) > 0",
    )


_OF_STEPS = " / rate({step_duration_seconds}_count{selector}[5m])"

METRICS = (
    Metric(
        name="arrivals_per_second",
        unit="items/s",
        help="Items that arrived per second, of the last step that reported it.",
        take=lambda view: view.record.measurement.arrivals_per_s,
        by_batch=True,
        aged=True,
        curves=(
            Curve(
                "arrivals",
                "expected",
                "expected",
                take=_due(lambda each: each.per_s),
                ahead=_forecast(lambda each: each.per_s),
            ),
            Curve("arrivals", "arrived", "measured", main=True),
            Curve(
                "arrivals",
                "low",
                "band",
                take=_due(lambda each: each.low_per_s),
                ahead=_forecast(lambda each: each.low_per_s, now=True),
                hidden=True,
            ),
            Curve(
                "arrivals",
                "high",
                "band",
                take=_due(lambda each: each.high_per_s),
                ahead=_forecast(lambda each: each.high_per_s, now=True),
                hidden=True,
            ),
        ),
        glance=Glance(
            "Arrivals",
            "per_s",
            note=lambda view: f"next {number(view.fan[0].per_s)}" if view.fan else "",
            curve="arrivals/arrived",
        ),
        panel="Arrival rate",
        legend="arrived",
    ),
    Metric(
        name="expected_arrivals_per_second",
        unit="items/s",
        help="Items per second that are expected in the next step.",
        take=_next_rate,
        panel="Arrival rate",
        legend="expected in the next step",
    ),
    Metric(
        name="completions_per_second",
        unit="items/s",
        help="Items per second with a result, of the last step that reported it.",
        take=lambda view: view.record.measurement.completions_per_s,
        by_batch=True,
        panel="Arrival rate",
        legend="completed",
    ),
    Metric(
        name="latency_seconds",
        unit="s",
        help="Mean latency of the last step with a result.",
        take=lambda view: view.record.measurement.latency_s,
        by_batch=True,
        curves=(
            Curve("latency", "measured", "measured", main=True),
            Curve(
                "latency",
                "late",
                "violation",
                take=lambda view: view.record.measurement.latency_s if view.late else None,
                hidden=True,
            ),
        ),
        glance=Glance(
            "Latency",
            "seconds",
            note=_latency_note,
            limit=lambda facts: facts.target_latency_s,
            curve="latency/measured",
        ),
        panel="Latency",
        legend="measured",
    ),
    Metric(
        name="latency_target_seconds",
        unit="s",
        help="Latency not to exceed (slo.latency_ms).",
        take=lambda view: view.facts.target_latency_s,
        before_steps=True,
        panel="Latency",
        legend="target",
    ),
    Metric(
        name="late_steps",
        unit="",
        help="Steps with a latency above the target.",
        type="counter",
        take=lambda view: view.late,
        glance=Glance(
            "Late steps",
            note=lambda view: "target unknown" if view.facts.target_latency_s is None else "",
            known=lambda view: view.facts.target_latency_s is not None,
            share_of="judged_steps",
        ),
        panel="Late steps",
        legend="share above the target",
        query="rate({}[5m])" + _OF_STEPS,
    ),
    Metric(
        name="judged_steps",
        unit="",
        help="Steps with a latency, which is held against the target.",
        type="counter",
        take=lambda view: view.record.measurement.latency_s is not None,
    ),
    Metric(
        name="unmeasured_steps",
        unit="",
        help="Steps whose arrivals are not known, in which nothing is scaled in.",
        type="counter",
        take=lambda view: view.record.measurement.arrivals_per_s is None,
        panel="Late steps",
        legend="share not measured",
        query="rate({}[5m])" + _OF_STEPS,
    ),
    Metric(
        name="backlog_items",
        unit="items",
        help="Items that arrived and have no result yet.",
        take=lambda view: view.record.measurement.backlog_items,
        panel="Backlog",
        legend="items without a result",
    ),
    Metric(
        name="executors",
        unit="",
        help="Executors as planned, requested and observed.",
        label="stage",
        take=lambda view: {stage: _executors(u) for stage, u in view.stages.items()},
        curves=_stages(_executors, "executors"),
        glance=Glance("Executors", of="observed", note=_executors_note, curve="executors/observed"),
        panel="Executors",
        legend="{{stage}}",
    ),
    Metric(
        name="frequency_hertz",
        unit="Hz",
        help="CPU frequency of the hosts as planned, requested and observed.",
        label="stage",
        take=lambda view: {stage: _hertz(u) for stage, u in view.stages.items()},
        curves=_stages(_hertz, "frequency"),
        glance=Glance(
            "Frequency",
            "hertz",
            of="observed",
            note=_requested_and_planned(lambda place: f"{place.frequency_khz / 1e6:.2f}"),
            curve="frequency/observed",
        ),
        panel="CPU frequency",
        legend="{{stage}}",
    ),
    Metric(
        name="power_watts",
        unit="W",
        help="Power of the worker hosts; the source says how it is known.",
        label="source",
        take=_by_source(lambda view: view.record.measurement.power_w or 0.0),
        curves=tuple(
            Curve("power", source, source, of=source, main=True)
            for source in ("measured", "modelled", "emulated")
        ),
        glance=Glance(
            "Power",
            "watts",
            take=lambda view: view.record.measurement.power_w,
            note=_source,
            curve="power/*",
        ),
        panel="Power",
        legend="{{source}}",
    ),
    Metric(
        name="energy_joules",
        unit="J",
        help="Energy of the worker hosts; the source says how it is known.",
        type="counter",
        label="source",
        take=_by_source(lambda view: view.energy_j),
        glance=Glance(
            "Energy",
            "joules",
            note=_source,
            known=lambda view: view.record.measurement.power_w is not None,
        ),
        panel="Energy per hour",
        legend="{{source}}",
        query="increase({}[1h]) / 3600",
    ),
    Metric(
        name="plan_cost",
        unit="",
        help="Cost of the plan over its horizon by term of the objective, without unit.",
        label="term",
        take=_cost_terms,
        curves=tuple(
            Curve("cost", term, term, of=term) for term in ("resource", "latency", "switching")
        ),
        glance=Glance(
            "Plan cost",
            "cost",
            take=lambda view: None if (cost := _cost(view)) is None else cost.total,
            note=_cost_note,
        ),
        panel="Cost of the plan",
        legend="{{term}}",
    ),
    Metric(
        name="unapplied_seconds",
        unit="s",
        help="How long what runs has not been what was asked for; 0 while it is.",
        label="knob",
        take=lambda view: view.unapplied_s,
        before_steps=True,
        panel="Not as requested for",
        legend="{{knob}}",
    ),
    Metric(
        name="dead_time_seconds",
        unit="s",
        help="Time from asking for an executor until it serves, as planned with.",
        take=lambda view: view.record.dead_time_s,
        panel="Not as requested for",
        legend="dead time of an executor",
    ),
    events_metric(),
    Metric(
        name="step_duration_seconds",
        unit="s",
        help="Control steps, and the time from when each was due until everything was applied.",
        type="summary",
        take=lambda view: view.record.took_s or 0.0,
        panel="Duration of a step",
        legend="until everything is applied",
        query="rate({step_duration_seconds}_sum{selector}[5m])" + _OF_STEPS,
    ),
    Metric(
        name="measurement_age_seconds",
        unit="s",
        help="Time since the last step whose arrivals are known.",
        take=lambda view: (
            None if view.measured_at_s is None else max(view.now_s - view.measured_at_s, 0.0)
        ),
        panel="Duration of a step",
        legend="age of the last measurement",
    ),
    Metric(
        name="last_step_timestamp_seconds",
        unit="s",
        help="When the last control step ended, in seconds since 1970.",
        take=lambda view: view.record.at_s,
    ),
    Metric(
        name="step_seconds",
        unit="s",
        help="Length of one control step (horizon.step_s).",
        take=lambda view: view.step_s,
        before_steps=True,
    ),
    Metric(
        name="agent_reachable",
        unit="",
        help="1 while the agent of a host answers.",
        label="host",
        take=lambda view: {host.name: host.answers for host in view.hosts},
        before_steps=True,
        panel="Agents as the controller sees them",
        legend="{{host}} reachable",
    ),
    Metric(
        name="agent_controlled",
        unit="",
        help="1 while this controller holds the lease of a host.",
        label="host",
        take=lambda view: {host.name: host.condition == "controlled" for host in view.hosts},
        before_steps=True,
        panel="Agents as the controller sees them",
        legend="{{host}} leased",
    ),
    Metric(
        name="agent_reading_age_seconds",
        unit="s",
        help="Time since the last reading of an agent.",
        label="host",
        take=lambda view: {host.name: host.age_s for host in view.hosts},
        before_steps=True,
    ),
)

CATALOGUE = Catalogue(METRICS, charts)
