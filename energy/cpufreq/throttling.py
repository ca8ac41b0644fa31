"""Evidence that firmware, heat or a turbo switch holds a policy down, whatever its user asked for.

The kernel shows a limit only as it is in force. Where it is lower than what was written, this tells
a throttle from another writer. A throttle that leaves no trace here cannot be told apart.
"""

from energy.cpufreq.attributes import parse_number, policy_path
from energy.cpufreq.policy import CpuPolicy, expected_max_khz
from energy.cpufreq.turbo import INTEL_DRIVERS
from energy.tree import CPU, THERMAL, Tree

_STEP_PERCENT = 20
_DEEPEST_STEP = 3
"""ACPI takes a fifth of the hardware's maximum for each of three steps, then stops the clock."""

Ranges = tuple[tuple[int, int], ...]


class Throttling:
    """What throttles a host at one moment; the cooling devices are read once, when first asked."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._cooling: tuple[tuple[str, int], ...] | None = None

    def holds(self, policy: CpuPolicy, khz: int) -> bool:
        """Whether an upper limit that reads `khz` can be a throttle's."""
        return khz < policy.highest_khz and lies_in(policy, khz, self.ranges_khz(policy))

    def is_unlimited(self, policy: CpuPolicy, khz: int) -> bool:
        """Whether an upper limit that reads `khz` is nobody's wish: the highest, or a throttle."""
        return khz >= policy.highest_khz or self.holds(policy, khz)

    def ranges_khz(self, policy: CpuPolicy) -> Ranges:
        """Where throttling may hold the policy, one range for each piece of evidence."""
        ranges = [
            (khz, khz)
            for khz in (self._bios_limit(policy), self._base(policy))
            if khz is not None and khz < policy.hardware_max_khz
        ]
        if self._cooling is None:
            self._cooling = _active_cooling(self._tree)
        own = {f"cpufreq-cpu{cpu}" for cpu in policy.cpus}
        for kind, state in self._cooling:
            # Nothing says which CPU a "Processor" stands for: each counts for the whole host.
            if kind == "Processor" or kind in own or kind.startswith("thermal-cpufreq-"):
                ranges.append(_step(policy, state))
            if kind != "Processor" and kind in own:
                ranges.extend(_entry(policy, state))
        return tuple(ranges)

    def _bios_limit(self, policy: CpuPolicy) -> int | None:
        return _number(self._tree, policy_path(policy.name, "bios_limit"))

    def _base(self, policy: CpuPolicy) -> int | None:
        if policy.driver not in INTEL_DRIVERS:
            return None
        if _number(self._tree, f"{CPU}/intel_pstate/no_turbo") != 1:
            return None
        return _number(self._tree, policy_path(policy.name, "base_frequency"))


def lies_in(policy: CpuPolicy, khz: int, ranges_khz: Ranges) -> bool:
    """Whether one of the ranges, as the policy's table shows it, holds `khz`."""
    return any(
        expected_max_khz(policy, low_khz) <= khz <= expected_max_khz(policy, high_khz)
        for low_khz, high_khz in ranges_khz
    )


def throttled_khz(tree: Tree, policy: CpuPolicy) -> int | None:
    """The lowest frequency throttling may hold the policy at now; None without any evidence."""
    lows_khz = [low_khz for low_khz, _ in Throttling(tree).ranges_khz(policy)]
    return min(lows_khz, default=None)


def _step(policy: CpuPolicy, state: int) -> tuple[int, int]:
    """Between this step and the one before: not every platform takes exactly a fifth."""
    step = min(state, _DEEPEST_STEP)
    high_khz = policy.hardware_max_khz * (100 - _STEP_PERCENT * (step - 1)) // 100
    if step == _DEEPEST_STEP:
        return policy.hardware_min_khz, high_khz
    return policy.hardware_max_khz * (100 - _STEP_PERCENT * step) // 100, high_khz


def _entry(policy: CpuPolicy, state: int) -> Ranges:
    """A cooling device of one policy walks down its table, where it has one."""
    if policy.table_khz is None or state >= len(policy.table_khz):
        return ()
    khz = policy.table_khz[-1 - state]
    return ((khz, khz),)


def _active_cooling(tree: Tree) -> tuple[tuple[str, int], ...]:
    found: set[tuple[str, int]] = set()
    try:
        names = tree.names(THERMAL)
    except OSError:
        return ()
    for name in names:
        if not name.startswith("cooling_device"):
            continue
        state = _number(tree, f"{THERMAL}/{name}/cur_state")
        if state:
            try:
                found.add((tree.read(f"{THERMAL}/{name}/type").strip(), state))
            except OSError:
                continue
    return tuple(sorted(found))


def _number(tree: Tree, path: str) -> int | None:
    try:
        return parse_number(tree.read(path).strip())
    except OSError:
        return None
