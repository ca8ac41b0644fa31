"""The agents of the worker hosts as the page shows them.

A running controller asks its fleet. Without one, after a run, the events of the journal tell which
agents were lost, came back, refused or drifted; hosts that were always well are not in it.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from mpc.events import Event, HostCondition
from mpc.values import PowerSource
from runtime.fleet.state import FleetState, HostState

Condition = Literal["controlled", "watched", "no agent"] | HostCondition


@dataclass(frozen=True, slots=True)
class HostView:
    """None: not known."""

    name: str
    condition: Condition
    busy: bool | None = None
    """Runs executors of this application."""
    requested_khz: int | None = None
    effective_khz: int | None = None
    power_w: float | None = None
    power_source: PowerSource | None = None
    executors: int | None = None
    age_s: float | None = None
    problem: str | None = None
    turbo: bool | None = None
    """Whether the host runs above its base frequency when it may."""

    @property
    def answers(self) -> bool:
        return self.condition not in ("lost", "no agent")


def from_fleet(state: FleetState) -> tuple[HostView, ...]:
    """Hosts that run executors and have no agent are among them."""
    known = [_host(host, host.name in state.busy_hosts) for host in state.hosts]
    return (*known, *(HostView(name, "no agent", busy=True) for name in state.unserved))


def from_events(hosts: tuple[HostView, ...], events: Iterable[Event]) -> tuple[HostView, ...]:
    """The hosts as told before, with what these events say of them."""
    found = {host.name: host for host in hosts}
    for event in events:
        condition = event.kind.meaning.host_condition
        name, separator, detail = event.detail.partition(": ")
        if condition is not None and separator:
            problem = None if condition == "recovered" else detail
            found[name] = HostView(name, condition, problem=problem)
    return tuple(found[name] for name in sorted(found))


def _host(host: HostState, busy: bool) -> HostView:
    condition: Condition = "lost"
    if host.reachable:
        condition = "controlled" if host.controlled else "watched"
    return HostView(
        name=host.name,
        condition=condition,
        busy=busy,
        requested_khz=host.requested_khz,
        effective_khz=host.effective_khz,
        power_w=host.power_w,
        power_source=host.source,
        executors=None if host.executors is None else len(host.executors),
        age_s=host.age_s,
        problem=host.problem,
        turbo=None if host.frequencies is None else host.frequencies.turbo,
    )
