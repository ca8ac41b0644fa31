"""Throttling by SIGSTOP and SIGCONT, where no control group is to be had.

A family has a credit of CPU seconds that grows by share * cores every second and shrinks by what
it really used. Out of credit it is stopped, and it continues once the credit suffices for a turn.
So its share is right whatever else runs on the machine, and however late this thread wakes up.
"""

import os
import signal
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from energy.emulation.dvfs.contract import Backend, check_share
from energy.emulation.dvfs.guard import GuardianLink
from energy.emulation.dvfs.ledger import stops_message, unstops_message
from energy.errors import ThrottleUnavailable, attribute_fault
from energy.processes import NS_PER_S, Process, cpu_ns, find_process

PERIOD_S = 0.04
_SHORTEST_WAIT_S = 0.002
_LONGEST_STOP_S = 1.0
"""However late a stop came: a debt is worked off in stops that heartbeats survive."""


@dataclass(slots=True)
class _Member:
    descriptor: int
    """A pidfd: unlike a pid it never means another process."""
    used_ns: int


@dataclass(slots=True)
class _Family:
    cores: float
    credited_at_s: float
    share: float = 1.0
    credit_s: float = 0.0
    stopped: bool = False
    members: dict[Process, _Member] = field(default_factory=dict)
    guarded: set[Process] = field(default_factory=set)

    @property
    def rate(self) -> float:
        return self.share * self.cores

    @property
    def turn_s(self) -> float:
        """Credit to continue with: with all cores busy it makes one stop and one run a period."""
        return PERIOD_S * self.rate * (1.0 - self.share)

    def step(self, now_s: float) -> float:
        """Settle the credit, stop or continue; returns in how many seconds to look again."""
        used_s = 0.0
        for process, member in tuple(self.members.items()):
            total_ns = cpu_ns(process.pid)
            if total_ns is None:
                self.drop(process)
            else:
                used_s += max(0, total_ns - member.used_ns) / NS_PER_S
                member.used_ns = total_ns
        earned_s = self.rate * (now_s - self.credited_at_s)
        self.credited_at_s = now_s
        credit_s = self.credit_s + earned_s - used_s
        # Time in which the family did not want to run is not saved up.
        self.credit_s = min(PERIOD_S * self.rate, max(-_LONGEST_STOP_S * self.rate, credit_s))
        if self.stopped and self.credit_s >= self.turn_s:
            self.let_run()
        elif not self.stopped and self.credit_s < 0.0:
            self.stop()
        if self.stopped:
            wait_s = (self.turn_s - self.credit_s) / self.rate
        else:
            wait_s = self.credit_s / max(self.cores - self.rate, self.cores * 0.1)
        return min(max(wait_s, _SHORTEST_WAIT_S), PERIOD_S)

    def stop(self) -> None:
        self.stopped = True
        self.signal(signal.SIGSTOP)

    def let_run(self) -> None:
        self.stopped = False
        self.signal(signal.SIGCONT)

    def signal(self, number: signal.Signals) -> None:
        for process, member in tuple(self.members.items()):
            try:
                signal.pidfd_send_signal(member.descriptor, number)
            except (ProcessLookupError, PermissionError):
                self.drop(process)

    def drop(self, process: Process) -> None:
        os.close(self.members.pop(process).descriptor)


class DutyCycle:
    """One thread that stops and continues all families."""

    def __init__(self) -> None:
        self.backend: Backend = "duty-cycle"
        try:
            os.close(os.pidfd_open(os.getpid()))
        except OSError as error:
            raise ThrottleUnavailable(f"duty-cycle: no pidfd_open ({error.strerror})") from error
        self._guard = GuardianLink()
        self._families: dict[str, _Family] = {}
        self._changed = threading.Condition(threading.RLock())
        self._closing = False
        self._thread: threading.Thread | None = None

    def attach(self, name: str, processes: Sequence[Process], cores: float) -> None:
        if not cores > 0:
            raise ValueError(f"cores must be positive, got {cores}")
        with self._changed:
            if name in self._families:
                raise ValueError(f"{name} is attached already")
            family = _Family(cores, time.monotonic(), credit_s=PERIOD_S * cores)
            self._families[name] = family
            try:
                self._take_in(family, processes)
            except BaseException:
                self.detach(name)
                raise
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="duty-cycle", daemon=True)
                self._thread.start()
            self._changed.notify_all()

    def set_share(self, name: str, share: float) -> None:
        check_share(share)
        with self._changed:
            family = self._families[name]
            family.step(time.monotonic())
            family.share = share
            family.credit_s = min(family.credit_s, family.turn_s)
            self._changed.notify_all()

    def update(self, name: str, processes: Sequence[Process]) -> None:
        self._guard.keep()
        with self._changed:
            family = self._families[name]
            self._let_go(family, family.guarded.difference(family.members))
            self._take_in(family, [one for one in processes if one not in family.members])

    def detach(self, name: str) -> None:
        with self._changed:
            family = self._families.pop(name)
            family.let_run()
            for process in tuple(family.members):
                family.drop(process)
            self._let_go(family, family.guarded)

    def close(self) -> None:
        with self._changed:
            self._closing = True
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join()
        for name in tuple(self._families):
            self.detach(name)
        self._guard.close()

    def _take_in(self, family: _Family, processes: Sequence[Process]) -> None:
        if not processes:
            return
        self._guard.send(stops_message(processes))
        family.guarded.update(processes)
        for process in processes:
            try:
                descriptor = os.pidfd_open(process.pid)
            except ProcessLookupError:
                continue
            used_ns = cpu_ns(process.pid)
            if used_ns is None or find_process(process.pid) != process:
                os.close(descriptor)
                continue
            family.members[process] = _Member(descriptor, used_ns)
            try:
                signal.pidfd_send_signal(descriptor, 0)
            except PermissionError as error:
                raise attribute_fault(f"/proc/{process.pid}", "stop", error) from error
            except ProcessLookupError:
                family.drop(process)
        if family.stopped:
            family.stop()

    def _let_go(self, family: _Family, processes: set[Process]) -> None:
        if processes:
            self._guard.send(unstops_message(processes))
            family.guarded = family.guarded - processes

    def _run(self) -> None:
        with self._changed:
            try:
                while not self._closing:
                    now_s = time.monotonic()
                    waits_s = [family.step(now_s) for family in self._families.values()]
                    self._changed.wait(min(waits_s, default=None))
            finally:
                for family in self._families.values():
                    family.let_run()
