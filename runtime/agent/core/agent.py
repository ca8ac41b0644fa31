"""The heart of the agent: every command and every tick, without network and without threads.

Called from one thread at a time. A command is checked, recorded in the audit log, journaled and
only then carried out; it raises `Refused` and nothing else on purpose. `tick` is called about once
a second: it is the dead man's switch, the watch for other writers and the poll of the meter.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass

from energy.errors import HostError
from energy.host_load import HostLoad
from energy.meters.contract import EnergyReading, Meter
from energy.tree import Tree
from runtime.agent.core.audit import AuditLog, Detail
from runtime.agent.core.frequency import FrequencyKeeper
from runtime.agent.core.journal import OriginalsJournal
from runtime.agent.core.lease import LeaseKeeper
from runtime.agent.core.ledger import Ledger
from runtime.agent.core.state import (
    AuditUnavailable,
    JournalCorrupt,
    JournalUnavailable,
    StateError,
)
from runtime.agent.host.executors import Executor
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.callers import Caller
from runtime.agent.wire.messages import (
    EnergyReport,
    ExecutorReport,
    ExecutorsReport,
    FrequencyRequest,
    FrequencySet,
    Hello,
    LeaseGranted,
    LeaseRequest,
    Released,
    ReleaseRequest,
    Renewed,
    RenewRequest,
    Status,
)
from runtime.agent.wire.refusals import Refused, refusal_of
from runtime.clock import HostClock

_POLL_S = 0.5
"""A tick that comes early does not poll the meter again."""
_REFRESH_S = 10.0
_STALE_READING_S = 1.0


@dataclass(frozen=True, slots=True)
class Identity:
    """Who this agent is; a restart under the same boot id may find originals to restore."""

    version: str
    host: str
    boot_id: str
    emulated: bool


@dataclass(slots=True)
class Counters:
    """What happened since the start, for status and metrics."""

    accepted: int = 0
    refused: int = 0
    expired: int = 0


class Agent:
    """One host, one lease. `start` first, `stop` last."""

    def __init__(
        self,
        identity: Identity,
        tree: Tree,
        rules: FrequencyRules,
        meter: Meter | None,
        meter_reason: str | None,
        journal: OriginalsJournal,
        audit: AuditLog,
        clock: HostClock,
        executors: Callable[[], Sequence[Executor]],
        load: Callable[[], HostLoad | None] = lambda: None,
    ) -> None:
        self._identity = identity
        self._rules = rules
        self._meter = meter
        self._meter_reason = meter_reason
        self._audit = audit
        self._clock = clock
        self._find_executors = executors
        self._read_load = load
        self._ledger = Ledger(journal)
        self._leases = LeaseKeeper()
        self._frequency = FrequencyKeeper(tree, rules, self._ledger, audit)
        self._started_s = clock.boot_s()
        self._refreshed_s = self._started_s
        self._reading: EnergyReading | None = None
        self._stopping = False
        self._host_problem: str | None = None
        self._meter_problem: str | None = None
        self._no_control: str | None = "the agent has not been started"
        self.counters = Counters()

    @property
    def drifts(self) -> int:
        """How often somebody else changed a policy under a lease, since the start."""
        return self._frequency.drifts

    def start(self) -> None:
        """Restore what an earlier start left behind, then be ready.

        With a journal that cannot be read, energy and status are served but no lease is granted:
        the originals of this host are not known.
        """
        self._refresh()
        try:
            recorded = self._ledger.load(first_epoch=int(self._clock.wall_s()))
        except (JournalCorrupt, JournalUnavailable) as error:
            self._no_control = str(error)
            self._audit.event("no_control", message=self._no_control)
            return
        self._no_control = None
        self._audit.event("started", boot_id=self._identity.boot_id, epoch=self._ledger.epoch)
        if recorded.entries or recorded.void:
            self._audit.event("recovered", entries=len(recorded.entries), void=recorded.void)
        self._frequency.restore("start")

    def stop(self) -> Released:
        """Restore the host; every later command is refused."""
        if self._stopping:
            return Released()
        self._stopping = True
        self._leases.end()
        released = self._frequency.restore("stop")
        self._audit.event("stopped")
        self._audit.close()
        return released

    def tick(self) -> None:
        """Expire, watch, try again, measure. Never raises because of the host."""
        now_s = self._clock.boot_s()
        if self._stopping:
            return
        self._expire(now_s)
        if now_s - self._refreshed_s >= _REFRESH_S:
            self._refresh()
        self._host_problem = self._frequency.watch()
        self._frequency.retry()
        if self._reading is None or now_s - self._reading.at_s >= _POLL_S:
            self._poll(now_s)
        self._audit.flush()

    def lease(self, caller: Caller, request: LeaseRequest) -> LeaseGranted:
        with self._command(caller, "lease") as now_s:
            self._leases.check_free(caller.name, request.take_over, now_s)
            self._audit.accepted(
                caller.name, "lease", period_ms=request.period_ms, take_over=request.take_over
            )
            epoch = self._ledger.next_epoch()
            lease = self._leases.grant(caller.name, epoch, request.period_ms, now_s)
            self._audit.event("lease_granted", caller=caller.name, epoch=epoch)
            return LeaseGranted(epoch, lease.holder)

    def renew(self, caller: Caller, request: RenewRequest) -> Renewed:
        with self._command(caller, "renew") as now_s:
            self._leases.admit(caller.name, request.epoch, request.sequence)
            self._audit.accepted(
                caller.name, "renew", epoch=request.epoch, sequence=request.sequence
            )
            lease = self._leases.renew(now_s)
            return Renewed(lease.epoch, lease.remaining_ms(now_s))

    def set_frequency(self, caller: Caller, request: FrequencyRequest) -> FrequencySet:
        with self._command(caller, "set_frequency") as now_s:
            self._leases.admit(caller.name, request.epoch, request.sequence)
            change = self._frequency.prepare(request, now_s)
            self._audit.accepted(
                caller.name,
                "set_frequency",
                epoch=request.epoch,
                sequence=request.sequence,
                max_khz=request.max_khz,
                min_khz=request.min_khz,
                policies=None if request.policies is None else " ".join(request.policies),
                changes=len(change.requests),
            )
            return self._frequency.carry_out(change, now_s)

    def release(self, caller: Caller, request: ReleaseRequest) -> Released:
        with self._command(caller, "release"):
            self._leases.admit(caller.name, request.epoch, request.sequence)
            return self._give_back(
                caller, "release", epoch=request.epoch, sequence=request.sequence
            )

    def release_as_administrator(self, caller: Caller) -> Released:
        """End whatever lease there is and restore the host."""
        with self._command(caller, "release_as_administrator", administrator=True):
            return self._give_back(caller, "release_as_administrator")

    def hello(self) -> Hello:
        meter = self._meter
        return Hello(
            version=self._identity.version,
            host=self._identity.host,
            boot_id=self._identity.boot_id,
            emulated=self._identity.emulated,
            policies=tuple(self._frequency.policies.values()),
            floor_khz=self._rules.floor_khz,
            may_move_minimum=self._rules.may_move_minimum,
            meter=None if meter is None else meter.name,
            energy_source=None if meter is None else meter.source,
            meter_reason=self._meter_reason,
        )

    def energy(self) -> EnergyReport:
        now_s = self._clock.boot_s()
        if self._reading is None or now_s - self._reading.at_s > _STALE_READING_S:
            self._poll(now_s)
        if self._reading is None:
            reason = self._meter_problem or self._meter_reason or "no meter"
            raise Refused("unavailable", f"no energy can be read on this host: {reason}")
        return EnergyReport(
            at_ms=round(self._reading.at_s * 1000),
            boot_id=self._identity.boot_id,
            started_ms=round(self._started_s * 1000),
            source=self._reading.source,
            total_uj=self._reading.total_uj,
            zones=self._reading.zones,
        )

    def executors(self) -> ExecutorsReport:
        found = tuple(
            ExecutorReport(
                one.application, one.executor_id, one.pid, one.cores, round(one.cpu_s * 1e3)
            )
            for one in self._find_executors()
        )
        load = self._read_load()
        at_s = self._clock.boot_s() if load is None or load.at_s is None else load.at_s
        return ExecutorsReport(
            round(at_s * 1000),
            found,
            busy_ms=None if load is None else load.busy_ms,
            clock_khz=None if load is None else load.clock_khz,
        )

    def status(self) -> Status:
        now_s = self._clock.boot_s()
        lease = self._leases.lease
        return Status(
            version=self._identity.version,
            host=self._identity.host,
            emulated=self._identity.emulated,
            uptime_ms=round((now_s - self._started_s) * 1000),
            holder=None if lease is None else lease.holder,
            epoch=self._ledger.epoch,
            expires_in_ms=None if lease is None else lease.remaining_ms(now_s),
            policies=self._frequency.statuses(),
            energy_source=None if self._meter is None else self._meter.source,
            total_uj=None if self._reading is None else self._reading.total_uj,
            accepted=self.counters.accepted,
            refused=self.counters.refused,
            last_problem=self._problem(),
        )

    @contextmanager
    def _command(self, caller: Caller, action: str, administrator: bool = False) -> Iterator[float]:
        """What all commands share: who may, whether the lease is over, what is recorded."""
        try:
            self._admit(caller, action, administrator)
            now_s = self._clock.boot_s()
            self._expire(now_s)
            yield now_s
        except (HostError, StateError) as error:
            refused = refusal_of(error)
            self._refuse(caller, action, refused)
            raise refused from error
        except Refused as refused:
            self._refuse(caller, action, refused)
            raise
        self.counters.accepted += 1

    def _admit(self, caller: Caller, action: str, administrator: bool) -> None:
        if self._stopping:
            raise Refused("stopping", "the agent is stopping")
        if not (caller.administrator if administrator else caller.may_command):
            raise Refused("not_allowed", f"{caller.name} may not {action}")
        if self._no_control is not None:
            raise Refused("unavailable", self._no_control)

    def _refuse(self, caller: Caller, action: str, refused: Refused) -> None:
        self.counters.refused += 1
        self._audit.refused(caller.name, action, refused.code, str(refused))

    def _give_back(self, caller: Caller, action: str, **details: Detail) -> Released:
        with suppress(AuditUnavailable):  # restoring never waits for the log
            self._audit.accepted(caller.name, action, **details)
        self._leases.end()
        return self._frequency.restore(action)

    def _expire(self, now_s: float) -> None:
        lease = self._leases.lease
        if lease is not None and self._leases.expired(now_s):
            self.counters.expired += 1
            self._audit.event("lease_expired", caller=lease.holder, epoch=lease.epoch)
            self._leases.end()
            self._frequency.restore("expiry")

    def _refresh(self) -> None:
        try:
            self._frequency.refresh()
        except HostError as error:
            self._host_problem = str(error)
        self._refreshed_s = self._clock.boot_s()

    def _poll(self, now_s: float) -> None:
        if self._meter is None:
            return
        try:
            self._reading = self._meter.poll(now_s)
        except HostError as error:
            self._meter_problem = str(error)
        else:
            self._meter_problem = None

    def _problem(self) -> str | None:
        """What is wrong now, the gravest first."""
        waiting = next(
            (
                changed.problem
                for changed in self._ledger.changed.values()
                if changed.problem is not None
            ),
            None,
        )
        return (
            self._no_control
            or waiting
            or self._ledger.problem
            or self._audit.problem
            or self._host_problem
            or self._meter_problem
        )
