"""What a comparison says, computed: distance to the bound, policies outdone, the summary."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.results import Comparison, CurvePoint, Limit
from benchmarks.statistics import PolicyRuns, by_policy
from runtime.report.text import NBSP, count, fixed, percent, seconds

OWN = "foresight"
BOUND = "oracle"
REFERENCES = ("lat-node-h2", "lat-power-h2", "peak")
"""What `foresight` is set against first: h = 2 is the paper's best trade-off (section 5.5)."""


@dataclass(frozen=True, slots=True)
class Rivalry:
    """A policy, and the point of foresight's curve that does best against it."""

    policy: PolicyRuns
    rival: CurvePoint | None
    """No more violations and power; None if no point of the curve has that."""
    outdone: bool
    """The rival has no more reconfigurations either, and is strictly better in something."""


def bound_power_w(limit: Sequence[Limit], violations: float) -> float | None:
    """The least mean power for so many violations, interpolated; None without a bound."""
    known = sorted(
        (point.violations, point.mean_power_w)
        for point in limit
        if math.isfinite(point.mean_power_w)
    )
    if not known or not math.isfinite(violations):
        return None
    counts, powers_w = zip(*known, strict=True)
    return float(np.interp(violations, counts, powers_w))


def rivalries(comparison: Comparison) -> list[Rivalry]:
    """Every policy but foresight's own and the oracle, beside the curve."""
    return [
        _rivalry(policy, comparison.curve)
        for name, policy in by_policy(comparison.runs).items()
        if not name.startswith(OWN) and name != BOUND
    ]


def _rivalry(policy: PolicyRuns, curve: Sequence[CurvePoint]) -> Rivalry:
    """Of the points that outdo the policy the one with least power; if there is none, of those
    that are as good in violations and power the one with fewest reconfigurations."""
    theirs = _measures(policy)

    def no_more(point: CurvePoint, measures: int) -> bool:
        return all(
            our <= their + 1e-9
            for our, their in zip(_measures(point)[:measures], theirs, strict=False)
        )

    def less_of_one(point: CurvePoint) -> bool:
        return any(our < their - 1e-9 for our, their in zip(_measures(point), theirs, strict=True))

    outdoing = [point for point in curve if no_more(point, 3) and less_of_one(point)]
    if outdoing:
        best = min(outdoing, key=lambda point: (point.mean_power_w, point.alpha))
        return Rivalry(policy, best, outdone=True)
    as_good = [point for point in curve if no_more(point, 2)]
    nearest = min(as_good, key=lambda point: (point.reconfigurations, point.alpha), default=None)
    return Rivalry(policy, nearest, outdone=False)


def _measures(of: CurvePoint | PolicyRuns) -> tuple[float, float, float]:
    return of.violations, of.mean_power_w, of.reconfigurations


def summary(comparison: Comparison) -> str:
    """Two sentences on what came out."""
    policies = by_policy(comparison.runs)
    if not policies:
        return "No policy was run. There is nothing to compare."
    own = policies.get(OWN)
    if own is None:
        return _summary_without_own(_where(comparison), list(policies.values()))
    threshold = seconds(comparison.threshold_s)
    first = (
        f"{_where(comparison)} foresight at its default missed the {threshold} threshold in "
        f"{count(own.violations)} of {own.steps:,} steps at a mean power of "
        f"{_watts(own.mean_power_w)}"
    )
    reference = next((policies[name] for name in REFERENCES if name in policies), None)
    if reference is None:
        first += "."
    else:
        first += (
            f", against {count(reference.violations)} at {_watts(reference.mean_power_w)} for "
            f"{reference.policy}: {_more_or_less(own.mean_power_w, reference.mean_power_w)}."
        )
    second = distance_to_bound(comparison) or curve_verdict(comparison)
    return f"{first} {second}".strip()


def _where(comparison: Comparison) -> str:
    simulated = comparison.provenance.backend == "simulation"
    return "In simulation," if simulated else "On Spark,"


def _summary_without_own(where: str, policies: Sequence[PolicyRuns]) -> str:
    def known(value: float) -> float:
        return value if math.isfinite(value) else math.inf

    accurate = min(policies, key=lambda policy: known(policy.violations))
    thrifty = min(policies, key=lambda policy: known(policy.mean_power_w))
    return (
        f"{where} {accurate.policy} had the fewest violations: {count(accurate.violations)} "
        f"of {accurate.steps:,} steps at {_watts(accurate.mean_power_w)}. "
        f"{thrifty.policy} took the least power: {_watts(thrifty.mean_power_w)} with "
        f"{count(thrifty.violations)} violations."
    )


def distance_to_bound(comparison: Comparison) -> str:
    """How far `foresight` is from the clairvoyant bound at its own violations; "" if unknown."""
    own = by_policy(comparison.runs).get(OWN)
    if own is None:
        return ""
    least_w = bound_power_w(comparison.limit, own.violations)
    if least_w is None or least_w <= 0 or not math.isfinite(own.mean_power_w):
        return ""
    above_w = own.mean_power_w - least_w
    return (
        f"The clairvoyant bound for as many violations is {_watts(least_w)}; foresight is "
        f"{_watts(abs(above_w))} ({percent(abs(above_w) / least_w)}) "
        f"{'below' if above_w < 0 else 'above'} it."
    )


def curve_distance(comparison: Comparison) -> str:
    """The same along the whole curve."""
    shares = [
        point.mean_power_w / least_w - 1
        for point in comparison.curve
        if (least_w := bound_power_w(comparison.limit, point.violations))
        and math.isfinite(point.mean_power_w)
    ]
    if not shares:
        return ""
    return (
        f"Along the curve the distance is {percent(min(shares))} to {percent(max(shares))} of the "
        f"bound's power."
    )


def curve_verdict(comparison: Comparison) -> str:
    """How many of the other policies the curve outdoes."""
    others = rivalries(comparison)
    if not comparison.curve or not others:
        return ""
    beaten = sum(other.outdone for other in others)
    return (
        f"At some alpha, foresight outdoes {beaten} of {len(others)} other policies: no more "
        f"violations, power or reconfigurations, and less of at least one."
    )


def _more_or_less(own_w: float, reference_w: float) -> str:
    if not (math.isfinite(own_w) and math.isfinite(reference_w)) or reference_w <= 0:
        return "the power cannot be compared"
    change = own_w / reference_w - 1
    return f"{percent(abs(change))} {'less' if change < 0 else 'more'} power"


def _watts(power_w: float) -> str:
    return f"{fixed(power_w, 1)}{NBSP}W"
