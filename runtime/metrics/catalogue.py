"""Every metric of a controller, declared once; the order is that of the figures in views.

To add one, add a declaration. Only what hosts' agents expose themselves is declared elsewhere
(`runtime/agent/service/metrics.py`).
"""

from collections import Counter
from collections.abc import Iterable

from mpc.events import DescribedEvent, EventKind
from runtime.metrics.charts import page_charts
from runtime.metrics.metric import Catalogue, Curve, Glance, Metric, Panel
from runtime.metrics.takes import (
    by_source,
    carrying_forecast,
    cost_note,
    cost_terms,
    executors_note,
    executors_of,
    forecast_curve,
    hertz_of,
    latency_note,
    next_note,
    next_rate,
    plan_cost,
    requested_and_planned,
    source_note,
    stage_curves,
)


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
        panel=Panel("Events per minute", "{{kind}}", "60 * rate({}[5m]) > 0"),
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
            forecast_curve("expected", "expected", lambda each: each.per_s),
            Curve("arrivals", "arrived", "measured", main=True),
            forecast_curve("low", "band", lambda each: each.low_per_s, edge=True),
            forecast_curve("high", "band", lambda each: each.high_per_s, edge=True),
        ),
        glance=Glance(
            "Arrivals",
            "per_s",
            note=next_note,
            curve="arrivals/arrived",
        ),
        panel=Panel("Arrival rate", "arrived"),
    ),
    Metric(
        name="expected_arrivals_per_second",
        unit="items/s",
        help="Items per second that are expected in the next step.",
        take=next_rate,
        panel=Panel("Arrival rate", "expected in the next step"),
    ),
    Metric(
        name="forecast_share_ratio",
        unit="",
        help="Share of the next step's forecast that the forecast which carries it has, by its "
        "name.",
        label="forecast",
        take=carrying_forecast,
        panel=Panel("Share of the forecast", "{{forecast}}"),
    ),
    Metric(
        name="completions_per_second",
        unit="items/s",
        help="Items per second with a result, of the last step that reported it.",
        take=lambda view: view.record.measurement.completions_per_s,
        by_batch=True,
        panel=Panel("Arrival rate", "completed"),
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
            note=latency_note,
            limit=lambda facts: facts.target_latency_s,
            curve="latency/measured",
        ),
        panel=Panel("Latency", "measured"),
    ),
    Metric(
        name="latency_target_seconds",
        unit="s",
        help="Latency not to exceed (slo.latency_ms).",
        take=lambda view: view.facts.target_latency_s,
        before_steps=True,
        panel=Panel("Latency", "target"),
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
        panel=Panel("Late steps", "share above the target", "rate({}[5m])" + _OF_STEPS),
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
        panel=Panel("Late steps", "share not measured", "rate({}[5m])" + _OF_STEPS),
    ),
    Metric(
        name="backlog_items",
        unit="items",
        help="Items that arrived and have no result yet.",
        take=lambda view: view.record.measurement.backlog_items,
        panel=Panel("Backlog", "items without a result"),
    ),
    Metric(
        name="executors",
        unit="",
        help="Executors as planned, requested and observed.",
        label="stage",
        take=lambda view: {stage: executors_of(u) for stage, u in view.stages.items()},
        curves=stage_curves(executors_of, "executors"),
        glance=Glance("Executors", of="observed", note=executors_note, curve="executors/observed"),
        panel=Panel("Executors", "{{stage}}"),
    ),
    Metric(
        name="frequency_hertz",
        unit="Hz",
        help="CPU frequency of the hosts as planned, requested and observed.",
        label="stage",
        take=lambda view: {stage: hertz_of(u) for stage, u in view.stages.items()},
        curves=stage_curves(hertz_of, "frequency"),
        glance=Glance(
            "Frequency",
            "hertz",
            of="observed",
            note=requested_and_planned(lambda place: f"{place.frequency_khz / 1e6:.2f}"),
            curve="frequency/observed",
        ),
        panel=Panel("CPU frequency", "{{stage}}"),
    ),
    Metric(
        name="power_watts",
        unit="W",
        help="Power of the worker hosts; the source says how it is known.",
        label="source",
        take=by_source(lambda view: view.record.measurement.power_w or 0.0),
        curves=tuple(
            Curve("power", source, source, of=source, main=True)
            for source in ("measured", "modelled", "emulated")
        ),
        glance=Glance(
            "Power",
            "watts",
            take=lambda view: view.record.measurement.power_w,
            note=source_note,
            curve="power/*",
        ),
        panel=Panel("Power", "{{source}}"),
    ),
    Metric(
        name="energy_joules",
        unit="J",
        help="Energy of the worker hosts; the source says how it is known.",
        type="counter",
        label="source",
        take=by_source(lambda view: view.energy_j),
        glance=Glance(
            "Energy",
            "joules",
            note=source_note,
            known=lambda view: view.record.measurement.power_w is not None,
        ),
        panel=Panel("Energy per hour", "{{source}}", "increase({}[1h]) / 3600"),
    ),
    Metric(
        name="plan_cost",
        unit="",
        help="Cost of the plan over its horizon by term of the objective, without unit.",
        label="term",
        take=cost_terms,
        curves=tuple(
            Curve("cost", term, term, of=term) for term in ("resource", "latency", "switching")
        ),
        glance=Glance(
            "Plan cost",
            "cost",
            take=lambda view: None if (cost := plan_cost(view)) is None else cost.total,
            note=cost_note,
        ),
        panel=Panel("Cost of the plan", "{{term}}"),
    ),
    Metric(
        name="unapplied_seconds",
        unit="s",
        help="How long what runs has not been what was asked for; 0 while it is.",
        label="knob",
        take=lambda view: view.unapplied_s,
        before_steps=True,
        panel=Panel("Not as requested for", "{{knob}}"),
    ),
    Metric(
        name="dead_time_seconds",
        unit="s",
        help="Time from asking for an executor until it serves, as planned with.",
        take=lambda view: view.record.dead_time_s,
        panel=Panel("Not as requested for", "dead time of an executor"),
    ),
    events_metric(),
    Metric(
        name="step_duration_seconds",
        unit="s",
        help="Control steps, and the time from when each was due until everything was applied.",
        type="summary",
        take=lambda view: view.record.took_s or 0.0,
        panel=Panel(
            "Duration of a step",
            "until everything is applied",
            "rate({step_duration_seconds}_sum{selector}[5m])" + _OF_STEPS,
        ),
    ),
    Metric(
        name="measurement_age_seconds",
        unit="s",
        help="Time since the last step whose arrivals are known.",
        take=lambda view: (
            None if view.measured_at_s is None else max(view.now_s - view.measured_at_s, 0.0)
        ),
        panel=Panel("Duration of a step", "age of the last measurement"),
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
        panel=Panel("Agents as the controller sees them", "{{host}} reachable"),
    ),
    Metric(
        name="agent_controlled",
        unit="",
        help="1 while this controller holds the lease of a host.",
        label="host",
        take=lambda view: {host.name: host.condition == "controlled" for host in view.hosts},
        before_steps=True,
        panel=Panel("Agents as the controller sees them", "{{host}} leased"),
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

CATALOGUE = Catalogue(METRICS, page_charts)
