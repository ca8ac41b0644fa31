"""`ds2` provisions for the true processing rate, as Flink's autoscaler does."""

from dataclasses import replace
from typing import Any

import pytest

from mpc.bounds import Bounds
from mpc.policies.ds2 import Ds2Parameters, Ds2Policy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(1, 20, (1_000_000, 2_000_000))
COST_CYCLES = 2e6
"""1,000 rows/s on an executor at 2 GHz."""
QUICK = Ds2Parameters(
    metrics_window_s=20.0, stabilisation_interval_s=10.0, scale_down_interval_s=0.0
)


def run(
    policy: Ds2Policy,
    arrivals_per_s: list[float],
    executors: int,
    backlog_items: float | None = 0.0,
    **values: Any,
) -> list[int]:
    """Ten-second steps; everything that arrives is served, whoever pays for it."""
    wanted = []
    for number, rate in enumerate(arrivals_per_s):
        now = Configuration(executors, 2_000_000)
        measured: dict[str, Any] = {
            "arrivals_per_s": rate,
            "completions_per_s": rate,
            "cost_cycles": COST_CYCLES,
            "backlog_items": backlog_items,
            **values,
        }
        decision = policy.decide(
            Measurement(number, 10.0 * number, now, now, **measured), Bounds(SPACE)
        )
        assert decision.target.frequency_khz == 2_000_000
        assert decision.reason
        executors = decision.target.executors
        wanted.append(executors)
    return wanted


def test_it_waits_for_stabilisation_and_a_full_window_then_provisions_for_the_target() -> None:
    # Capacity wanted: 8000 / 0.7 + 8000 * 300 / 1800 = 12,762; four executors have 4,000.
    # Factor 3.19 of four executors: 13.
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    assert run(policy, [8_000.0] * 6, executors=4) == [4, 4, 4, 13, 13, 13]


@pytest.mark.parametrize(
    ("arrivals_per_s", "wanted"),
    [
        (4_500.0, 8),  # above a utilisation of 1.0: 4500 * (1/0.7 + 1/6) = 7,179 rows/s
        (3_900.0, 4),  # 0.975, inside the band of 0.7 +- 0.3
        (1_600.0, 4),  # 4,000 is below 1600 * (1/0.4 + 1/6) = 4,267: inside, too
        (1_400.0, 3),  # below: 1400 * (1/0.7 + 1/6) = 2,233 rows/s
        (100.0, 2),  # at most 60 % are removed at once
    ],
)
def test_the_band_decides_whether_and_the_target_how_far(
    arrivals_per_s: float, wanted: int
) -> None:
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    assert run(policy, [arrivals_per_s] * 4, executors=4)[-1] == wanted


def test_lag_is_to_be_caught_up_in_time() -> None:
    # 3600 / 0.7 + 3600 / 6 + 900,000 / 1800 = 6,243 rows/s.
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    assert run(policy, [3_600.0] * 4, executors=4, backlog_items=900_000.0)[-1] == 7
    without = Ds2Policy(SPACE, 10.0, replace(QUICK, catch_up_duration_s=0.0))
    # And without: 3600 / 0.7 is 5,143, but 0.9 is inside the band.
    assert run(without, [3_600.0] * 4, executors=4, backlog_items=900_000.0)[-1] == 4


def test_much_lag_forbids_a_scale_in() -> None:
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    assert run(policy, [100.0] * 4, executors=4, backlog_items=31_000.0)[-1] == 4


def test_lag_is_summed_up_where_no_source_reports_it() -> None:
    # 5,400 arrive and 3,600 are served: at the third decision 72,000 rows wait.
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    wanted = run(policy, [5_400.0] * 4, 4, backlog_items=None, completions_per_s=3_600.0)
    # (5400 / 0.7 + 5400 / 6 + 72,000 / 1800) / 1000
    assert wanted == [4, 4, 4, 9]


def test_a_scale_in_waits_and_goes_to_the_most_that_was_wanted_meanwhile() -> None:
    policy = Ds2Policy(
        SPACE,
        10.0,
        replace(
            QUICK, metrics_window_s=0.0, stabilisation_interval_s=0.0, scale_down_interval_s=30.0
        ),
    )
    # Wanted of ten executors: 4 (at most 60 % fewer), 5, 4 and 4.
    assert run(policy, [1_000.0, 3_000.0, 1_000.0, 1_000.0], executors=10) == [10, 10, 10, 5]


def test_a_rise_meanwhile_calls_the_scale_in_off() -> None:
    policy = Ds2Policy(
        SPACE,
        10.0,
        replace(
            QUICK, metrics_window_s=0.0, stabilisation_interval_s=0.0, scale_down_interval_s=20.0
        ),
    )
    rates = [1_000.0, 1_000.0, 9_000.0, 1_000.0, 1_000.0]
    assert run(policy, rates, executors=10) == [10] * 5


def test_without_cpu_time_the_time_of_batches_is_the_useful_time() -> None:
    now = Configuration(4, 2_000_000)
    batches = (BatchSample(30_000, 10.0, now),)
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    # 3,000 rows/s while they ran; 5000 * (1/0.7 + 1/6) = 7,976 needs 2.66 times as many.
    wanted = run(policy, [5_000.0] * 4, 4, cost_cycles=None, batches=batches)
    assert wanted[-1] == 11


def test_nothing_measured_changes_nothing() -> None:
    policy = Ds2Policy(SPACE, 10.0, QUICK)
    now = Configuration(4, 2_000_000)
    for number in range(10):
        assert (
            policy.decide(Measurement(number, 10.0 * number, now, now), Bounds(SPACE)).target == now
        )
