"""All agents of a cluster at once: one thread each, so that a slow one delays nobody.

`request`, `state` and `events` never wait: the control loop sets targets and reads what is known.
The threads lease the hosts, keep them at their targets and read energy and CPU time.
"""

import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping
from typing import Self

from mpc.events import Event, Events
from runtime.fleet.port import AgentPort
from runtime.fleet.session import Session
from runtime.fleet.state import FleetState
from runtime.fleet.targets import HostTarget

Connect = Callable[[], AgentPort]
"""Makes a client of one agent, for one thread; called again for every new attempt."""

PERIOD_S = 1.0
STOP_S = 10.0
_MOST_EVENTS = 1000


class Fleet:
    """The agents of the worker hosts, by the name under which Spark knows the host."""

    def __init__(
        self,
        agents: Mapping[str, Connect],
        period_s: float = PERIOD_S,
        *,
        control: bool = True,
        take_over: bool = False,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Without `control` hosts are only read: no lease is taken and nothing is changed.
        `take_over` replaces an unexpired lease of the same caller, for a restarted controller."""
        if not period_s > 0:
            raise ValueError(f"period_s must be positive, got {period_s}")
        self._clock = clock
        self._events: deque[Event] = deque(maxlen=_MOST_EVENTS)
        self._busy_hosts: frozenset[str] = frozenset()
        self._runners = {
            host: _Runner(
                host,
                Session(host, connect, period_s, clock, control=control, take_over=take_over),
                period_s,
                self._events,
            )
            for host, connect in agents.items()
        }

    def start(self) -> None:
        for runner in self._runners.values():
            runner.start()

    def stop(self, timeout_s: float = STOP_S) -> tuple[str, ...]:
        """Give all hosts back; those for which that is not certain, whose leases end by
        themselves. Takes no longer than `timeout_s`, however dead an agent is."""
        deadline_s = time.monotonic() + timeout_s
        for runner in self._runners.values():
            runner.end()
        return tuple(
            host
            for host, runner in self._runners.items()
            if not runner.is_released(max(0.0, deadline_s - time.monotonic()))
        )

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def request(self, frequency_khz: int, busy_hosts: Collection[str]) -> None:
        """Run the hosts with executors at this frequency, or as near as they can, and the others
        at their floor. A change goes out at once."""
        self._busy_hosts = frozenset(busy_hosts)
        for host, runner in self._runners.items():
            runner.set_target(HostTarget(frequency_khz, host in self._busy_hosts))

    def state(self) -> FleetState:
        """What is known now."""
        now_s = self._clock()
        hosts = tuple(runner.session.state(now_s) for runner in self._runners.values())
        return FleetState(hosts, self._busy_hosts)

    def events(self) -> Events:
        """What happened since the last call, oldest first."""
        found = []
        while self._events:
            found.append(self._events.popleft())
        return tuple(found)


class _Runner:
    """The thread of one session."""

    def __init__(self, host: str, session: Session, period_s: float, events: deque[Event]) -> None:
        self.session = session
        self._period_s = period_s
        self._events = events
        self._target = HostTarget()
        self._awake = threading.Event()
        self._ending = False
        self._is_released = False
        # A daemon: an agent that hangs does not keep the application from ending.
        self._thread = threading.Thread(target=self._run, name=f"fleet-{host}", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def set_target(self, target: HostTarget) -> None:
        if target != self._target:
            self._target = target
            self._awake.set()

    def end(self) -> None:
        self._ending = True
        self._awake.set()

    def is_released(self, timeout_s: float) -> bool:
        if self._thread.ident is None:
            return True
        self._thread.join(timeout_s)
        return self._is_released

    def _run(self) -> None:
        while True:
            begin_s = time.monotonic()
            # Before anything is read: a target set from now on wakes this thread again.
            self._awake.clear()
            if self._ending:
                break
            self._events.extend(self.session.step(self._target))
            self._awake.wait(max(0.0, begin_s + self._period_s - time.monotonic()))
        self._is_released = self.session.close()
