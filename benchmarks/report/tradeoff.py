"""Violations against power: foresight as a curve, the others as points, the bound."""

import math

from benchmarks.report.colours import family_colour
from benchmarks.report.findings import OWN
from benchmarks.report.statistics import by_policy
from benchmarks.results import Comparison
from runtime.report.charts import Pair, Scatter, ScatterPoint
from runtime.report.text import count, fixed


def tradeoff(comparison: Comparison) -> Scatter | None:
    """None when there is not a single point to draw."""
    policies = [
        policy
        for policy in by_policy(comparison.runs).values()
        if math.isfinite(policy.violations) and math.isfinite(policy.mean_power_w)
    ]
    points = tuple(
        _point(
            policy.policy,
            policy.policy,
            policy.violations,
            policy.mean_power_w,
            policy.reconfigurations,
        )
        for policy in policies
    )
    curve = tuple(
        _point(
            OWN,
            f"alpha {point.alpha:g}",
            point.violations,
            point.mean_power_w,
            point.reconfigurations,
        )
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


def _point(
    policy: str, name: str, violations: float, power_w: float, reconfigurations: float
) -> ScatterPoint:
    words = name if policy == name else f"{policy}, {name}"
    return ScatterPoint(
        x=power_w,
        y=violations,
        name=name,
        style=family_colour(policy),
        about=(
            f"{words}: {count(violations)} violations, {fixed(power_w, 2)} W, "
            f"{count(reconfigurations)} reconfigurations"
        ),
        strong=name == OWN,
    )


def _bound(comparison: Comparison) -> tuple[Pair, ...]:
    """(power, violations), from many violations to few."""
    known = sorted(
        (
            (point.violations, point.mean_power_w)
            for point in comparison.limit
            if math.isfinite(point.mean_power_w)
        ),
        reverse=True,
    )
    return tuple((power_w, float(violations)) for violations, power_w in known)
