"""Whether something that was written explains what a policy reads now.

The kernel tells only what is in force, never who asked for it, so a value is explained by what the
kernel would make of a written one: by itself, under a throttle, or bounded by the other limit.
"""

from collections.abc import Sequence

from energy.cpufreq.policy import Limits, Policy
from energy.cpufreq.resolve import expected_max_khz, expected_min_khz, expected_speed_khz
from energy.cpufreq.throttling import Throttling


def explains_max(
    policy: Policy,
    limits: Limits,
    written_khz: Sequence[int],
    throttling: Throttling,
) -> bool:
    expected_khz = [expected_max_khz(policy, khz) for khz in written_khz]
    if limits.max_khz in expected_khz:
        return True
    return limits.max_khz < max(expected_khz, default=0) and throttling.holds(
        policy, limits.max_khz
    )


def explains_min(policy: Policy, limits: Limits, written_khz: Sequence[int]) -> bool:
    # A lower limit above the upper one reads as the upper one, whoever lowered that.
    return any(
        expected_min_khz(policy, khz, limits.max_khz) == limits.min_khz for khz in written_khz
    )


def explains_speed(
    policy: Policy, limits: Limits, speed_khz: int | None, written_khz: Sequence[int]
) -> bool:
    return speed_khz is not None and any(
        expected_speed_khz(policy, khz, limits.min_khz, limits.max_khz) == speed_khz
        for khz in written_khz
    )
