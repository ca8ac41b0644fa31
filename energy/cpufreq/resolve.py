"""What the kernel makes of a number: clamped to the hardware's range, then moved to the table.

Pure. It is the arithmetic of cpufreq_set_policy() for one request, with nothing else limiting.
"""

from bisect import bisect_left, bisect_right

from energy.cpufreq.policy import Policy


def expected_max_khz(policy: Policy, khz: int) -> int:
    """What an unthrottled kernel reads back after `khz` was written to `scaling_max_freq`."""
    clamped_khz = _clamp(khz, policy.hardware_min_khz, policy.hardware_max_khz)
    table_khz = policy.table_khz
    if table_khz is None:
        return clamped_khz
    return table_khz[max(bisect_right(table_khz, clamped_khz) - 1, 0)]


def expected_min_khz(policy: Policy, khz: int, max_khz: int) -> int:
    """The same for `scaling_min_freq`; it never reads above the upper limit in force."""
    clamped_khz = _clamp(khz, policy.hardware_min_khz, max_khz)
    table_khz = policy.table_khz
    if table_khz is None:
        return clamped_khz
    place = min(bisect_left(table_khz, clamped_khz), len(table_khz) - 1)
    return min(table_khz[place], max_khz)


def expected_speed_khz(policy: Policy, khz: int, min_khz: int, max_khz: int) -> int:
    """Where the userspace governor goes for `khz` within these limits: up to the next entry."""
    clamped_khz = _clamp(khz, min_khz, max_khz)
    table_khz = policy.table_khz
    if table_khz is None:
        return clamped_khz
    within = [entry for entry in table_khz if min_khz <= entry <= max_khz]
    above = (entry for entry in within if entry >= clamped_khz)
    return min(above, default=max(within, default=max_khz))


def _clamp(khz: int, low_khz: int, high_khz: int) -> int:
    return min(max(khz, low_khz), high_khz)
