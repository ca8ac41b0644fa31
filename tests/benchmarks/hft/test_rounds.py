"""Rounds: every run is reported, policies take turns at being first, and missed steps count."""

from dataclasses import replace

from benchmarks.hft.rounds import HftRound, order_of, spreads

ROW = HftRound(
    policy="peak",
    seed=1,
    steps=180,
    violations=0,
    violation_fraction=0.0,
    reconfigurations=0,
    executor_changes=0,
    frequency_changes=0,
    mean_executors=6.0,
    mean_power_w=40.0,
    energy_j=7_200.0,
    amplitude=0.0,
    latency_mean_s=11.0,
    latency_p95_s=17.0,
    latency_p99_s=18.0,
    decision_ms_p50=0.1,
    decision_ms_p99=0.2,
    round=1,
    missed_steps=0,
)


def test_no_policy_is_always_the_first() -> None:
    assert order_of(("a", "b", "c"), 1) == ("a", "b", "c")
    assert order_of(("a", "b", "c"), 2) == ("c", "b", "a")


def test_energy_is_held_against_peak_of_the_same_round() -> None:
    rows = [
        ROW,
        replace(ROW, policy="foresight", energy_j=6_480.0, violations=3, missed_steps=2),
        replace(ROW, policy="foresight", energy_j=3_600.0, violations=1, round=2),
        replace(ROW, energy_j=4_500.0, round=2),
        replace(ROW, policy="foresight", energy_j=1.0, violations=8, round=3),
    ]
    peak, foresight = spreads(rows)
    assert (peak.policy, peak.runs, peak.energy_against_peak) == ("peak", 2, "+0.0%")
    assert foresight.runs == 3
    assert foresight.late_steps == "1 / 3 / 8"
    assert foresight.missed_steps == "0 / 2"
    # The third round has no peak, and so nothing to be held against.
    assert foresight.energy_against_peak == "-20.0% / -15.0% / -10.0%"
