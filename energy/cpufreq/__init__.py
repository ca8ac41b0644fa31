"""CPU frequencies of a host: discover its policies, cap them, put them back."""

from energy.cpufreq.discover import discover, survey
from energy.cpufreq.limits import apply_limits, check_request, expected_max_khz, read_limits
from energy.cpufreq.originals import (
    Original,
    RestoreOutcome,
    Written,
    own_values,
    restore,
    save_original,
)
from energy.cpufreq.policy import CpuPolicy, FrequencyLimits, LimitOutcome, LimitRequest
from energy.cpufreq.throttling import Throttling, throttled_khz
from energy.cpufreq.userspace import apply_speeds

__all__ = [
    "CpuPolicy",
    "FrequencyLimits",
    "LimitOutcome",
    "LimitRequest",
    "Original",
    "RestoreOutcome",
    "Throttling",
    "Written",
    "apply_limits",
    "apply_speeds",
    "check_request",
    "discover",
    "expected_max_khz",
    "own_values",
    "read_limits",
    "restore",
    "save_original",
    "survey",
    "throttled_khz",
]
