"""Small comparisons for the tests of reports and published figures; nothing in them was run."""

from dataclasses import replace
from typing import Any

from benchmarks.results import Comparison, CurvePoint, Limit, Row, Run, Series

STEPS = 6


def make_row(policy: str, seed: int = 0, **changes: Any) -> Row:
    row = Row(
        policy=policy,
        seed=seed,
        steps=STEPS,
        violations=1,
        violation_fraction=1 / STEPS,
        reconfigurations=2,
        executor_changes=1,
        frequency_changes=1,
        mean_executors=8.25,
        mean_power_w=50.0,
        energy_j=300.0,
        amplitude=1.125,
        latency_mean_s=0.8e-3,
        latency_p95_s=1.4e-3,
        latency_p99_s=2.6e-3,
        decision_ms_p50=0.321,
        decision_ms_p99=0.987,
    )
    return replace(row, **changes)


SERIES = Series(
    arrivals_per_s=(10_000.0, 12_000.0, 14_000.0, 13_000.0, 0.0, 9_000.0),
    expected_per_s=(None, 11_000.0, 12_500.0, 14_500.0, 13_000.0, 4_000.0),
    executors=(12, 8, 9, 9, 8, 7),
    frequency_khz=(2_000_000, 1_600_000, 1_600_000, 1_700_000, 1_500_000, 1_400_000),
    latency_s=(0.7e-3, 0.9e-3, 1.6e-3, None, None, 0.8e-3),
    power_w=(70.0, 48.0, 51.0, 52.0, 44.0, 38.0),
)


def make_run(
    policy: str,
    seed: int = 0,
    series: Series = SERIES,
    windows: int = 2_158_000,
    **changes: Any,
) -> Run:
    return Run(make_row(policy, seed, **changes), series, windows)


def make_comparison(
    *runs: Run,
    scenario: str = "paper-random-walk",
    threshold_s: float = 1.5e-3,
    step_s: float = 1.0,
    curve: tuple[CurvePoint, ...] = (),
    limit: tuple[Limit, ...] = (),
) -> Comparison:
    return Comparison(scenario, "the paper's random walk", threshold_s, step_s, runs, curve, limit)


def full_comparison() -> Comparison:
    """Several policies with three seeds each, a curve and a bound."""
    power_w = {
        "peak": 70.0,
        "lat-node-nosw": 60.0,
        "lat-node-h2": 61.0,
        "lat-power-nosw": 49.0,
        "lat-power-h2": 51.0,
        "foresight": 52.0,
        "oracle": 47.0,
    }
    violations = {"peak": 0, "lat-power-nosw": 5, "lat-power-h2": 4, "foresight": 0, "oracle": 0}
    runs = [
        make_run(
            policy,
            seed,
            mean_power_w=watts + seed - 1,
            violations=violations.get(policy, 2),
            reconfigurations=0 if policy == "peak" else 2,
        )
        for policy, watts in power_w.items()
        for seed in range(3)
    ]
    curve = (
        CurvePoint(0.5, 3.0, 48.0, 1.0),
        CurvePoint(1.0, 0.0, 52.0, 1.5),
        CurvePoint(2.0, 0.0, 54.0, 1.0),
    )
    limit = tuple(Limit(allowed, 45.0 - 2.0 * allowed) for allowed in range(STEPS + 1))
    return make_comparison(*runs, curve=curve, limit=limit)
