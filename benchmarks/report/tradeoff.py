"""Violations against power: foresight as a curve, the others as points, the bound."""

import math

from benchmarks.report.colours import family_colour
from benchmarks.report.findings import OWN
from benchmarks.results import Comparison, CurvePoint
from benchmarks.statistics import PolicyRuns, by_policy
from runtime.report.charts import Pair, Scatter, ScatterPoint
from runtime.report.text import count, fixed


def tradeoff(comparison: Comparison) -> Scatter | None:
    """None when there is not a single point to draw."""
    policies = [
        policy
        for policy in by_policy(comparison.runs).values()
        if math.isfinite(policy.violations) and math.isfinite(policy.mean_power_w)
    ]
    points = tuple(_point(policy.policy, policy.policy, policy) for policy in policies)
    curve = tuple(
        _point(OWN, f"alpha {point.alpha:g}", point)
        for point in sorted(comparison.curve, key=lambda point: point.alpha)
        if math.isfinite(point.violations) and math.isfinite(point.mean_power_w)
    )
    if not points and not curve:
        return None
    of_steps = f" of {policies[0].steps:,} steps" if policies else ""
    names = ", ".join(by_policy(comparison.runs))
    return Scatter(
        id="tradeoff",
        label=f"violations against mean power, {comparison.provenance.figures}: {names}",
        x_title=f"mean power (W), {comparison.provenance.power}",
        y_title=f"violations{of_steps}",
        points=points,
        curve=curve,
        bound=_bound(comparison),
        square_root=True,
    )


def _point(policy: str, name: str, measured: PolicyRuns | CurvePoint) -> ScatterPoint:
    words = name if policy == name else f"{policy}, {name}"
    return ScatterPoint(
        x=measured.mean_power_w,
        y=measured.violations,
        name=name,
        style=family_colour(policy),
        about=(
            f"{words}: {count(measured.violations)} violations, "
            f"{fixed(measured.mean_power_w, 2)} W, "
            f"{count(measured.reconfigurations)} reconfigurations"
        ),
        strong=name == OWN,
    )


def _bound(comparison: Comparison) -> tuple[Pair, ...]:
    """(power, violations), from many violations to few."""
    known = ((point.violations, point.mean_power_w) for point in comparison.limit)
    return tuple(
        (power_w, float(violations))
        for violations, power_w in sorted(known, reverse=True)
        if math.isfinite(power_w)
    )
