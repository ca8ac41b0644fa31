"""`hpa` follows the ratio of CPU utilisation to its target, as Kubernetes does."""

from typing import Any

import pytest

from mpc.bounds import Bounds
from mpc.policies.hpa import HpaParameters, HpaPolicy
from mpc.values import Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(1, 50, (1_000_000, 2_000_000))
COST_CYCLES = 2e6
"""1,000 rows/s on an executor at 2 GHz."""
AT_ONCE = HpaParameters(scale_down_window_s=0.0)


def run(
    policy: HpaPolicy,
    rows_per_s: list[float],
    executors: int,
    ready: int | None = None,
    **values: Any,
) -> list[int]:
    """One sync period a step."""
    wanted = []
    for number, rate in enumerate(rows_per_s):
        requested = Configuration(executors, 2_000_000)
        observed = Configuration(executors if ready is None else ready, 2_000_000)
        measured: dict[str, Any] = {
            "arrivals_per_s": rate,
            "completions_per_s": rate,
            "cost_cycles": COST_CYCLES,
            **values,
        }
        decision = policy.decide(
            Measurement(number, 15.0 * number, requested, observed, **measured), Bounds(SPACE)
        )
        assert decision.target.frequency_khz == 2_000_000
        assert decision.reason
        executors = decision.target.executors
        wanted.append(executors)
    return wanted


@pytest.mark.parametrize(
    ("rows_per_s", "wanted"),
    [
        (10_000.0, 13),  # 10 * 1.0 / 0.8 = 12.5
        (30_000.0, 13),  # no more than all of the CPU is used
        (8_900.0, 12),  # ratio 1.11: 11.1
        (8_700.0, 10),  # 1.09 is within the tolerance
        (8_000.0, 10),
        (7_300.0, 10),  # 0.91, too
        (7_000.0, 9),  # 8.75
        (400.0, 1),
    ],
)
def test_the_ratio_beyond_the_tolerance_decides(rows_per_s: float, wanted: int) -> None:
    assert run(HpaPolicy(SPACE, 15.0, AT_ONCE), [rows_per_s] * 2, executors=10)[-1] == wanted


def test_a_scale_down_goes_to_the_highest_wish_of_the_window() -> None:
    policy = HpaPolicy(SPACE, 15.0, HpaParameters(scale_down_window_s=45.0))
    # The count it found (10 at 0 s) holds until 45 s, the wish for 8 of 15 s until 60 s.
    assert run(policy, [6_400.0, 6_400.0, 1_600.0, 1_600.0, 1_600.0, 1_600.0], 10) == [
        10,
        10,
        10,
        8,
        2,
        2,
    ]


def test_a_scale_up_is_at_once_but_limited_by_share_or_pods() -> None:
    eager = HpaParameters(target_utilisation=0.1)
    # All CPU used: ten times as many are wanted. 4 pods are more than 100 % of two.
    assert run(HpaPolicy(SPACE, 15.0, eager), [1e6] * 4, executors=2) == [2, 6, 12, 24]


def test_what_was_added_in_the_period_counts() -> None:
    policy = HpaPolicy(SPACE, 5.0, HpaParameters(target_utilisation=0.1, sync_period_s=5.0))
    wanted = []
    executors = 2
    for number in range(6):
        now = Configuration(executors, 2_000_000)
        decision = policy.decide(
            Measurement(
                number, 5.0 * number, now, now, completions_per_s=1e6, cost_cycles=COST_CYCLES
            ),
            Bounds(SPACE),
        )
        executors = decision.target.executors
        wanted.append(executors)
    # From two to six at 5 s; the next rise waits until 15 s later.
    assert wanted == [2, 6, 6, 6, 12, 12]


def test_pods_that_are_not_ready_use_nothing_when_it_scales_up() -> None:
    # Six of ten are ready and fully used: 6 / 10 / 0.8 is below one, the direction turns.
    assert run(HpaPolicy(SPACE, 15.0, AT_ONCE), [6_000.0] * 2, 10, ready=6)[-1] == 10
    # Nine are: 0.9 / 0.8 = 1.125 of ten.
    assert run(HpaPolicy(SPACE, 15.0, AT_ONCE), [9_000.0] * 2, 10, ready=9)[-1] == 12


def test_pods_that_are_not_ready_are_left_out_when_it_scales_down() -> None:
    # 4,000 of nine ready executors: 0.44 / 0.8 of nine is five.
    assert run(HpaPolicy(SPACE, 15.0, AT_ONCE), [4_000.0] * 2, 10, ready=9)[-1] == 5


def test_without_a_metric_nothing_changes() -> None:
    policy = HpaPolicy(SPACE, 15.0, AT_ONCE)
    assert run(policy, [400.0] * 4, 10, cost_cycles=None, completions_per_s=None) == [10] * 4
    # Rows arrive and no batch ends: the CPU may be idle or full.
    assert run(policy, [400.0] * 4, 10, cost_cycles=None, completions_per_s=0.0) == [10] * 4


def test_a_stream_without_rows_uses_no_cpu() -> None:
    assert run(HpaPolicy(SPACE, 15.0, AT_ONCE), [0.0] * 2, 10, cost_cycles=None)[-1] == 1


def test_it_decides_once_a_sync_period() -> None:
    policy = HpaPolicy(SPACE, 5.0, AT_ONCE)
    now = Configuration(10, 2_000_000)
    decided = [
        policy.decide(
            Measurement(
                number, 5.0 * number, now, now, completions_per_s=1e4, cost_cycles=COST_CYCLES
            ),
            Bounds(SPACE),
        ).target.executors
        for number in range(7)
    ]
    assert decided == [10, 10, 10, 13, 10, 10, 13]
