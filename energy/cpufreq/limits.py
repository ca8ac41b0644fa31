"""The limits of a policy: what is in force, and which requests may be carried out at all.

Reads and checks only; `energy.cpufreq.actuation` writes.
"""

from collections.abc import Callable

from energy.cpufreq.attributes import read_khz
from energy.cpufreq.policy import CpuPolicy, FrequencyLimits, LimitRequest, expected_min_khz
from energy.errors import FrequencyDenied, ModeUnsupported
from energy.tree import Tree

PAUSES_S = (0.0, 0.001, 0.002, 0.004, 0.008, 0.016, 0.032)
"""How long to wait, again and again, for a written limit to come into force: usually not at all."""

Wait = Callable[[float], None]


def read_limits(tree: Tree, policy: CpuPolicy) -> FrequencyLimits:
    """The limits in force, throttling included."""
    return FrequencyLimits(
        min_khz=read_khz(tree, policy.name, "scaling_min_freq"),
        max_khz=read_khz(tree, policy.name, "scaling_max_freq"),
    )


def check_request(
    policy: CpuPolicy,
    request: LimitRequest,
    limits: FrequencyLimits,
    floor_khz: int | None,
    may_move_minimum: bool,
) -> None:
    """Raise unless the request can be carried out as it is, but for the steps of a table.

    `floor_khz` is the lowest cap that may come into force. A cap below the lower limit in force is
    refused unless the request moves that as well: the kernel would lower it without a word.
    """
    lowest_khz = policy.hardware_min_khz
    if floor_khz is not None:
        lowest_khz = expected_min_khz(policy, floor_khz, policy.highest_khz)
    if request.min_khz is None:
        lowest_khz = max(lowest_khz, limits.min_khz)
    elif not may_move_minimum:
        raise ModeUnsupported(
            f"{policy.name}: the lower limit may not be moved here, ask for max_khz alone"
        )
    _check_range(policy, request.max_khz, lowest_khz, policy.hardware_max_khz)
    if request.min_khz is not None:
        _check_range(policy, request.min_khz, policy.hardware_min_khz, request.max_khz)


def _check_range(policy: CpuPolicy, khz: int, lowest_khz: int, highest_khz: int) -> None:
    if not lowest_khz <= khz <= highest_khz:
        raise FrequencyDenied(policy.name, khz, f"{lowest_khz}..{highest_khz}")
