"""CPU frequencies of a host: discover its policies, cap them, put them back."""

from energy.cpufreq.discover import discover, survey
from energy.cpufreq.limits import apply_limits, check_request, expected_max_khz, read_limits
from energy.cpufreq.originals import (
    Original,
    RestoreOutcome,
    Written,
    is_ours,
    restore,
    save_original,
)
from energy.cpufreq.policy import CpuPolicy, LimitOutcome, LimitRequest, Limits
from energy.cpufreq.throttling import Throttling, throttled_khz
from energy.cpufreq.userspace import apply_speeds

__all__ = [
    "CpuPolicy",
    "LimitOutcome",
    "LimitRequest",
    "Limits",
    "Original",
    "RestoreOutcome",
    "Throttling",
    "Written",
    "apply_limits",
    "apply_speeds",
    "check_request",
    "discover",
    "expected_max_khz",
    "is_ours",
    "read_limits",
    "restore",
    "save_original",
    "survey",
    "throttled_khz",
]
