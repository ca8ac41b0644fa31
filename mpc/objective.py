"""Whether the service level objective is kept: one answer for guards, policies, page and judges.

Without a quantile the mean latency of a step is judged; with one, the share of its rows that were
late. Where that share is not known, the mean stands in for it.
"""

from mpc.values import Measurement

ROUNDING = 1e-9


def breaks_objective(
    measurement: Measurement, target_latency_s: float, quantile: float | None = None
) -> bool:
    """Nothing measured breaks nothing."""
    late_share = measurement.late_share
    if quantile is not None and late_share is not None:
        return late_share > 1.0 - quantile + ROUNDING
    latency_s = measurement.latency_s
    return latency_s is not None and latency_s > target_latency_s


def lateness(measurement: Measurement, target_latency_s: float, quantile: float | None) -> str:
    """What an objective that is broken was broken by."""
    if quantile is not None and measurement.late_share is not None:
        return f"{measurement.late_share:.1%} of the rows later than {target_latency_s:.3g} s"
    return f"latency {measurement.latency_s:.3g} s above {target_latency_s:.3g} s"


def evenly_late(longest_s: float, shortest_s: float, target_s: float) -> float:
    """Share of late rows among those whose latencies lie evenly between two."""
    if longest_s <= shortest_s:
        return 1.0 if longest_s > target_s else 0.0
    return min(max((longest_s - target_s) / (longest_s - shortest_s), 0.0), 1.0)
