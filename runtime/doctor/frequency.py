"""What can be capped: drivers, ranges, domains and the limits in force now. Only reads."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from energy.cpufreq.discover import Broken, survey
from energy.cpufreq.limits import read_limits
from energy.cpufreq.policy import CpuPolicy, FrequencyLimits
from energy.cpufreq.throttling import Throttling
from energy.errors import HostError
from energy.tree import CPUFREQ, Tree
from runtime.doctor.findings import Finding, ranges

Key = TypeVar("Key")
_ok = partial(Finding, "frequency", "ok")
_warning = partial(Finding, "frequency", "warning")
_problem = partial(Finding, "frequency", "problem")

DRIVERS = ("acpi-cpufreq", "intel_pstate", "intel_cpufreq", "amd-pstate", "amd-pstate-epp")

_VIRTUAL_FIX = (
    "virtual machines seldom show cpufreq: run the agent on the physical host, or develop on the "
    "emulated one (emulation.enabled = true in agent.toml)"
)
_PHYSICAL_FIX = (
    "load a driver (modprobe acpi-cpufreq), remove intel_pstate=disable from the kernel command "
    "line, or enable P-states in the firmware; without hardware, emulation.enabled = true in "
    "agent.toml gives an emulated host"
)


@dataclass(frozen=True, slots=True)
class PolicyState:
    """A policy and its limits now."""

    policy: CpuPolicy
    limits: FrequencyLimits | None
    """None while it is inactive."""
    throttled: bool


@dataclass(frozen=True, slots=True)
class PolicyStates:
    """Every policy of a host: those that can be used and those that cannot."""

    states: tuple[PolicyState, ...]
    broken: tuple[Broken, ...]


def read_policies(tree: Tree) -> PolicyStates:
    found = survey(tree)
    throttling = Throttling(tree)
    states: list[PolicyState] = []
    broken = list(found.broken)
    for policy in found.policies:
        if not policy.active:
            states.append(PolicyState(policy, None, False))
            continue
        try:
            limits = read_limits(tree, policy)
        except HostError as error:
            broken.append(Broken(policy.name, str(error)))
        else:
            throttled = throttling.holds(policy, limits.max_khz)
            states.append(PolicyState(policy, limits, throttled))
    return PolicyStates(tuple(states), tuple(broken))


def frequency_findings(policies: PolicyStates, virtual: bool) -> Iterator[Finding]:
    for broken in policies.broken:
        yield _problem(
            f"{broken.name} cannot be used: {broken.reason}",
            "the agent leaves it alone; a newer kernel or root may read it",
        )
    if policies.states:
        for group in _grouped(policies.states, _offer).values():
            yield from _what_is_offered(group)
        yield from _domains_and_inactive([state.policy for state in policies.states])
        yield from _limits(policies.states)
    elif not policies.broken:
        yield _problem(
            f"no frequency policy in {CPUFREQ}: nothing can be capped",
            _VIRTUAL_FIX if virtual else _PHYSICAL_FIX,
        )


def permission_finding(
    policies: PolicyStates, is_root: bool, is_writable: Callable[[str], bool]
) -> Finding | None:
    """Whether caps can be written; `is_writable` asks the file system about a path of the tree."""
    paths = [f"{CPUFREQ}/{state.policy.name}/scaling_max_freq" for state in policies.states]
    closed = next((path for path in paths if not is_writable(path)), None)
    if not paths:
        return None
    if closed is None:
        return _ok("scaling_max_freq of every policy may be written")
    if not is_root:
        return _warning(
            f"{closed} is not writable for this user",
            "run the agent as root, and the doctor too, to see what the agent may do",
        )
    return _problem(
        f"{closed} is not writable, not even for root: /sys is mounted read-only",
        "mount it read-write; a container needs the host's /sys, a unit ReadWritePaths=",
    )


def _grouped(
    states: Sequence[PolicyState], key: Callable[[CpuPolicy, FrequencyLimits, bool], Key | None]
) -> dict[Key, list[CpuPolicy]]:
    """Active policies by a key of policy, limits and throttling; those with None are left out."""
    groups: dict[Key, list[CpuPolicy]] = {}
    for state in states:
        if state.limits is not None:
            found = key(state.policy, state.limits, state.throttled)
            if found is not None:
                groups.setdefault(found, []).append(state.policy)
    return groups


def _offer(policy: CpuPolicy, _: FrequencyLimits, __: bool) -> tuple[object, ...]:
    """Alike for all policies of most hosts; hybrid CPUs have two."""
    return (
        policy.driver,
        policy.hardware_min_khz,
        policy.hardware_max_khz,
        policy.table_khz,
        policy.governors,
        policy.governor,
        policy.boost,
        policy.base_khz,
    )


def _what_is_offered(group: Sequence[CpuPolicy]) -> Iterator[Finding]:
    first, names = group[0], _names(group)
    cpus = sum(len(policy.cpus) for policy in group)
    driver = f"{names}: driver {first.driver}, {cpus} {'CPU' if cpus == 1 else 'CPUs'}"
    if first.driver in DRIVERS:
        yield _ok(driver)
    else:
        yield _warning(driver, f"the agent was made for {', '.join(DRIVERS)}: try it with care")
    table = "any frequency between"
    if first.table_khz is not None:
        table = f"a table of {len(first.table_khz)}: {_table(first.table_khz)}"
    yield _ok(f"{names}: {first.hardware_min_khz} to {first.hardware_max_khz} kHz, {table}")
    yield from _turbo(names, first)
    userspace = "possible" if "userspace" in first.governors else "not offered, caps are"
    yield _ok(f'{names}: governor {first.governor}, actuation = "userspace" {userspace}')


def _turbo(names: str, policy: CpuPolicy) -> Iterator[Finding]:
    """Left out of the controller's choice unless frequency.turbo asks for it."""
    base_khz, highest_khz = policy.base_khz, policy.highest_khz
    if base_khz is not None and base_khz < highest_khz:
        on = "on" if policy.boost is not False else "off"
        yield _ok(
            f"{names}: turbo {on}, {base_khz} to {highest_khz} kHz; the controller uses it only "
            "with frequency.turbo = true"
        )
    elif policy.boost is True:
        where = "" if base_khz is None else f" above {base_khz} kHz"
        yield _ok(f"{names}: turbo on{where}, not told apart by a cap")
    elif policy.boost is False:
        yield _ok(f"{names}: turbo off")


def _domains_and_inactive(policies: Sequence[CpuPolicy]) -> Iterator[Finding]:
    wider = [policy for policy in policies if set(policy.domain_cpus) > set(policy.cpus)]
    if wider:
        yield _warning(
            f"{_names(wider)}: clocks are shared beyond the policy, as by CPUs "
            f"{ranges(wider[0].domain_cpus)}; the highest cap of a domain wins",
            "cap all policies of a domain alike, as a cap without policy names does",
        )
    inactive = [policy for policy in policies if not policy.active]
    if inactive:
        yield _warning(
            f"{_names(inactive)}: inactive, all CPUs offline",
            "bring them online (echo 1 > /sys/devices/system/cpu/cpuN/online) or do without",
        )


def _limits(states: Sequence[PolicyState]) -> Iterator[Finding]:
    def lowered_to(wanted: bool) -> dict[int, list[CpuPolicy]]:
        """Below what is possible, by throttling or by a limit that somebody wrote."""
        return _grouped(
            states,
            lambda policy, limits, throttled: (
                limits.max_khz
                if limits.max_khz < policy.highest_khz and throttled == wanted
                else None
            ),
        )

    for khz, policies in lowered_to(True).items():
        names = _names(policies)
        if policies[0].boost is False:
            yield _warning(
                f"{names}: at most {khz} kHz now, as turbo is off",
                "turn turbo on if its being off is a mistake",
            )
        else:
            yield _warning(
                f"{names}: at most {khz} kHz now, held down by firmware or heat",
                "check cooling and the power settings of the firmware; higher caps have no effect",
            )
    for khz, policies in lowered_to(False).items():
        yield _warning(
            f"{_names(policies)}: limited to {khz} kHz now, {policies[0].highest_khz} kHz is "
            "possible",
            "if nobody means that, `foresight agent restore` lifts what an agent left behind, and "
            "writing cpuinfo_max_freq to scaling_max_freq the rest",
        )
    raised = _grouped(
        states,
        lambda policy, limits, _: (
            limits.min_khz if limits.min_khz > policy.hardware_min_khz else None
        ),
    )
    for khz, policies in raised.items():
        yield _warning(
            f"{_names(policies)}: the lower limit is {khz} kHz, above the hardware's "
            f"{policies[0].hardware_min_khz} kHz, and caps below it are refused",
            "lower scaling_min_freq, or set frequency.may_move_minimum = true in agent.toml",
        )
    free = _grouped(
        states,
        lambda policy, limits, _: limits if limits.max_khz >= policy.highest_khz else None,
    )
    for limits, policies in free.items():
        yield _ok(
            f"{_names(policies)}: limits now {limits.min_khz} to {limits.max_khz} kHz, the highest"
        )


def _names(policies: Sequence[CpuPolicy]) -> str:
    numbers = [int(policy.name.removeprefix("policy")) for policy in policies]
    return f"policy{ranges(numbers)}"


def _table(table_khz: Sequence[int]) -> str:
    if len(table_khz) <= 4:
        return " ".join(str(khz) for khz in table_khz)
    return f"{table_khz[0]} {table_khz[1]} ... {table_khz[-2]} {table_khz[-1]}"
