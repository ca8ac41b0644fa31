"""Which energy counters there are, what the total is made of, and who may read them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial

from energy.meters.zones import UnreadableCount, rapl_zones, read_count
from energy.tree import POWERCAP, Tree
from runtime.doctor.findings import Finding

_ok = partial(Finding, "energy", "ok")
_warning = partial(Finding, "energy", "warning")


@dataclass(frozen=True, slots=True)
class CounterState:
    """One counter of the kernel."""

    name: str
    in_total: bool
    range_uj: int | None
    reason: str | None
    """Why it cannot be read; None: it can."""


def counter_states(tree: Tree) -> tuple[CounterState, ...]:
    """Raises `MeterUnavailable` where the folder of the counters itself is closed."""
    found = []
    for zone in rapl_zones(tree):
        reason = zone.fault
        try:
            read_count(tree, zone.energy_path)
        except UnreadableCount as error:
            reason = str(error)
        found.append(CounterState(zone.name, zone.in_total, zone.range_uj, reason))
    return tuple(found)


def energy_findings(
    states: Sequence[CounterState], virtual: bool, is_root: bool
) -> Iterator[Finding]:
    if not states:
        yield _warning(
            f"no RAPL counter in {POWERCAP}: energy can only be modelled",
            "virtual machines seldom show RAPL; set energy.full_power_w in agent.toml to the power "
            "of the host under full load"
            if virtual
            else "modprobe intel_rapl_msr (Intel, and AMD from family 17h), or set "
            "energy.full_power_w in agent.toml to the power of the host under full load",
        )
        return
    readable = [state for state in states if state.reason is None]
    closed = [state for state in states if state.reason is not None]
    if readable:
        yield _ok(f"powercap counts {_names(readable)}")
    if closed and not is_root:
        yield _warning(
            f"{_names(closed)}: not readable for this user ({closed[0].reason})",
            "run the agent as root, and the doctor too, to see what the agent may read",
        )
    elif closed:
        counts = any(state.in_total for state in closed)
        yield Finding(
            "energy",
            "problem" if counts else "warning",
            f"{_names(closed)}: not readable ({closed[0].reason})",
            'give root access to the counters, or choose energy.meter = "modelled"'
            if counts
            else "nothing to do: the total is made of the others",
        )
    endless = [state for state in readable if state.range_uj is None]
    if endless:
        yield _warning(
            f"{_names(endless)}: no max_energy_range_uj, so what a wrap loses is not counted",
            "poll often; an update of the kernel may help",
        )
    if readable:
        total = [state for state in states if state.in_total]
        yield _ok(f"the energy of the host is {' + '.join(_each(total))}")


def _names(states: Sequence[CounterState]) -> str:
    return ", ".join(_each(states))


def _each(states: Sequence[CounterState]) -> list[str]:
    return [state.name for state in states]
