"""Where turbo begins: the highest frequency that a host can hold for as long as it likes.

Every driver says it in another way, and some do not say it at all. What is said is believed only
where it lies within the policy's own range. Reads, never writes.
"""

from math import ceil

from energy.cpufreq.attributes import parse_number, policy_path
from energy.tree import CPU, Tree

INTEL_DRIVERS = ("intel_pstate", "intel_cpufreq")
TURBO_MARK_KHZ = 1_000
"""acpi-cpufreq lists turbo as one more frequency, 1 MHz above the highest: a label, not a value."""
_KHZ_PER_MHZ = 1_000


def read_base_khz(
    tree: Tree, name: str, driver: str, cpus: tuple[int, ...], range_khz: tuple[int, int]
) -> int | None:
    """The highest frequency of a policy without turbo; None where nothing tells it apart."""
    found = _number(tree, policy_path(name, "base_frequency"))
    if found is None and driver in INTEL_DRIVERS:
        found = _intel_base_khz(tree, range_khz)
    if found is None:
        found = _table_base_khz(tree, name)
    if found is None and cpus:
        nominal_mhz = _number(tree, f"{CPU}/cpu{cpus[0]}/acpi_cppc/nominal_freq")
        found = None if nominal_mhz is None else nominal_mhz * _KHZ_PER_MHZ
    lowest_khz, highest_khz = range_khz
    return found if found is not None and lowest_khz < found <= highest_khz else None


def _intel_base_khz(tree: Tree, range_khz: tuple[int, int]) -> int | None:
    """From the share of P-states that are turbo, which the kernel rounds up to whole percents."""
    turbo_percent = _number(tree, f"{CPU}/intel_pstate/turbo_pct")
    states = _number(tree, f"{CPU}/intel_pstate/num_pstates")
    if turbo_percent is None or states is None or states < 2 or turbo_percent > 100:
        return None
    lowest_khz, highest_khz = range_khz
    if _number(tree, f"{CPU}/intel_pstate/no_turbo"):
        return highest_khz  # the range ends at the base while turbo is off
    without = ceil((100 - turbo_percent) * states / 100)
    step_khz = (highest_khz - lowest_khz) / (states - 1)
    return round(lowest_khz + max(without - 1, 0) * step_khz)


def _table_base_khz(tree: Tree, name: str) -> int | None:
    """The highest entry that is neither listed as boost nor marked as turbo."""
    try:
        text = tree.read(policy_path(name, "scaling_available_frequencies"))
    except OSError:
        return None
    table_khz = sorted(khz for part in text.split() if (khz := parse_number(part)))
    if len(table_khz) < 2:
        return None
    return table_khz[-2] if table_khz[-1] - table_khz[-2] == TURBO_MARK_KHZ else table_khz[-1]


def _number(tree: Tree, path: str) -> int | None:
    try:
        return parse_number(tree.read(path).strip()) or None
    except OSError:
        return None
