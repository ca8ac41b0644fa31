"""How metrics are taken from a step, where that is more than a field of its record."""

from collections.abc import Callable, Sequence

from mpc.values import Configuration, CostTerms
from runtime.metrics.fan import ExpectedArrivals
from runtime.metrics.metric import Curve
from runtime.metrics.view import View
from runtime.report.text import number, seconds
from runtime.report.words import forecast_carrier

_HERTZ_PER_KHZ = 1000


def next_rate(view: View) -> float | None:
    expected = view.record.decision.expected_arrivals_per_s
    return None if expected is None or not len(expected) else float(expected[0])


def next_note(view: View) -> str:
    """What is expected of the next step, and by which forecast above all."""
    if not view.fan:
        return ""
    carrier = forecast_carrier(view.record.decision)
    return f"next {number(view.fan[0].per_s)}" + (f", by {carrier}" if carrier else "")


def carrying_forecast(view: View) -> dict[str, float]:
    decision = view.record.decision
    if decision.forecast_by is None or decision.forecast_share is None:
        return {}
    return {decision.forecast_by: decision.forecast_share}


def forecast_curve(
    name: str, style: str, read: Callable[[ExpectedArrivals], float | None], edge: bool = False
) -> Curve:
    """What was expected of each step, and of those to come.

    `edge`: of the band around the forecast, which is joined to what was expected of this step.
    """

    def take(view: View) -> float | None:
        return None if view.due is None else read(view.due)

    def ahead(view: View) -> Sequence[float | None]:
        now = take(view) if edge else None
        return (now, *(read(each) for each in view.fan)) if view.fan else ()

    return Curve("arrivals", name, style, take=take, ahead=ahead, hidden=edge)


def stage_curves(read: Callable[[Configuration], float], chart: str) -> tuple[Curve, ...]:
    def ahead(view: View) -> Sequence[float]:
        plan = view.record.decision.plan
        return () if plan is None else [read(each) for each in plan.trajectory]

    return (
        Curve(chart, "observed", "observed", of="observed", stepped=True, main=True),
        Curve(chart, "requested", "requested", of="requested", stepped=True),
        Curve(chart, "plan", "planned", of="planned", stepped=True, ahead=ahead),
    )


def executors_of(place: Configuration) -> float:
    return place.executors


def hertz_of(place: Configuration) -> float:
    return place.frequency_khz * _HERTZ_PER_KHZ


def requested_and_planned(words: Callable[[Configuration], str]) -> Callable[[View], str]:
    return lambda view: (
        f"requested {words(view.stages['requested'])}, plan {words(view.stages['planned'])}"
    )


def executors_note(view: View) -> str:
    most = view.facts.max_executors
    words = requested_and_planned(lambda place: str(place.executors))(view)
    return words if most is None else f"of {most}, {words}"


def latency_note(view: View) -> str:
    target_s = view.facts.target_latency_s
    words = "target unknown" if target_s is None else f"target {seconds(target_s)}"
    return f"{words}, {view.latency_kind}" if view.latency_kind is not None else words


def by_source(value: Callable[[View], float]) -> Callable[[View], dict[str, float]]:
    def take(view: View) -> dict[str, float]:
        measured = view.record.measurement
        return {} if measured.power_w is None else {measured.power_source: value(view)}

    return take


def source_note(view: View) -> str:
    measured = view.record.measurement
    return "not known" if measured.power_w is None else measured.power_source


def plan_cost(view: View) -> CostTerms | None:
    plan = view.record.decision.plan
    return None if plan is None else plan.cost


def cost_terms(view: View) -> dict[str, float]:
    cost = plan_cost(view)
    if cost is None:
        return {}
    return {"latency": cost.latency, "resource": cost.resource, "switching": cost.switching}


def cost_note(view: View) -> str:
    plan = view.record.decision.plan
    if plan is None:
        return "this policy does not plan"
    return "proven optimal" if plan.proven else f"bound {plan.lower_bound:.3f}"
