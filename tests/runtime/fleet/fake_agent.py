"""An agent in memory with the real rules of leases, a manual clock, and faults to order.

A fault is taken from `faults` at every call: the call is lost on the way, carried out but not
answered, refused with a code, or met by an answer that is none.
"""

from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import TypeVar, get_args

from energy.cpufreq.policy import CpuPolicy, LimitOutcome
from runtime.agent.core.lease import LeaseKeeper
from runtime.agent.wire.client import AgentUnreachable
from runtime.agent.wire.messages import (
    EnergyReport,
    ExecutorReport,
    ExecutorsReport,
    FrequencySet,
    Hello,
    LeaseGranted,
    PolicyStatus,
    Released,
    Renewed,
    Status,
)
from runtime.agent.wire.refusals import Code, Refused

MIN_KHZ, MAX_KHZ = 1_200_000, 2_000_000
POLICIES = ("policy0", "policy1")
CALLER = "controller"
CODES: tuple[Code, ...] = get_args(Code)
LEASE_CODES: tuple[Code, ...] = ("no_lease", "stale_epoch", "replayed", "lease_held")

Fault = str
""""lost", "unanswered", "broken", or the code of a refusal."""

Result = TypeVar("Result")


class ManualClock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def policy(name: str, min_khz: int = MIN_KHZ, max_khz: int = MAX_KHZ) -> CpuPolicy:
    cpu = int(name.removeprefix("policy"))
    return CpuPolicy(
        name=name,
        cpus=(cpu,),
        domain_cpus=(cpu,),
        driver="acpi-cpufreq",
        governors=("performance",),
        governor="performance",
        hardware_min_khz=min_khz,
        hardware_max_khz=max_khz,
        table_khz=None,
        boost=None,
        active=True,
    )


@dataclass
class FakeAgent:
    clock: ManualClock
    policies: tuple[CpuPolicy, ...] = tuple(policy(name) for name in POLICIES)
    floor_khz: int | None = None
    source: str = "emulated"
    power_w: float = 50.0
    executors: list[ExecutorReport] = field(default_factory=list)
    has_meter: bool = True
    faults: deque[Fault | None] = field(default_factory=deque)
    down: bool = False
    drifted: set[str] = field(default_factory=set)
    calls: list[str] = field(default_factory=list)
    set_khz: int | None = None
    """The cap in force; None: the host has its own frequency."""
    starts: int = 1
    open_clients: int = 0
    most_open_clients: int = 0
    double_leases: int = 0

    def __post_init__(self) -> None:
        self.leases = LeaseKeeper()
        self.epoch = 0
        self.started_s = self.clock()

    def connect(self) -> "FakeClient":
        return FakeClient(self)

    def restart(self) -> None:
        self.starts += 1
        self.started_s = self.clock()
        self.leases.end()
        self.set_khz = None
        self.drifted.clear()

    def expire(self) -> None:
        if self.leases.expired(self.clock()):
            self.end_lease()

    def end_lease(self) -> None:
        self.leases.end()
        self.set_khz = None
        self.drifted.clear()

    def grant(self, caller: str, period_ms: int, take_over: bool) -> LeaseGranted:
        self.leases.check_free(caller, take_over, self.clock())
        self.epoch += 1
        self.leases.grant(caller, self.epoch, period_ms, self.clock())
        return LeaseGranted(self.epoch, caller)

    def order(self, faults: Iterable[Fault | None]) -> None:
        self.faults = deque(faults)

    def counted(self, name: str) -> int:
        return self.calls.count(name)


class FakeClient:
    """Keeps epoch and sequence as `AgentClient` does."""

    def __init__(self, agent: FakeAgent) -> None:
        self._agent = agent
        self._epoch: int | None = None
        self._sequence = 0
        self._told_over = False
        self._open = True
        agent.open_clients += 1
        agent.most_open_clients = max(agent.most_open_clients, agent.open_clients)

    def hello(self) -> Hello:
        agent = self._agent
        return self._call(
            "hello",
            lambda: Hello(
                "0", "host", "boot", True, agent.policies, agent.floor_khz, False, "powercap",
                agent.source, None,
            ),
        )  # fmt: skip

    def lease(self, period_ms: int, take_over: bool = False) -> LeaseGranted:
        agent = self._agent

        def grant() -> LeaseGranted:
            live = agent.leases.lease
            if live is not None and live.epoch == self._epoch and not self._told_over:
                agent.double_leases += 1
            return agent.grant(CALLER, period_ms, take_over)

        granted = self._call("lease", grant)
        self._epoch, self._sequence, self._told_over = granted.epoch, 0, False
        return granted

    def renew(self) -> Renewed:
        def renew() -> Renewed:
            self._admit()
            lease = self._agent.leases.renew(self._agent.clock())
            return Renewed(lease.epoch, lease.remaining_ms(self._agent.clock()))

        return self._call("renew", renew)

    def set_frequency(self, max_khz: int) -> FrequencySet:
        agent = self._agent

        def cap() -> FrequencySet:
            self._admit()
            names = [each.name for each in agent.policies if each.name not in agent.drifted]
            if not names:
                raise Refused("drifted", "somebody else changed every policy")
            for each in agent.policies:
                if not each.hardware_min_khz <= max_khz <= each.hardware_max_khz:
                    raise Refused("frequency_denied", f"{max_khz} is out of range")
            agent.set_khz = max_khz
            outcomes = tuple(LimitOutcome(name, max_khz, max_khz, False, MIN_KHZ) for name in names)
            return FrequencySet(outcomes, tuple(sorted(agent.drifted)))

        return self._call("set_frequency", cap)

    def energy(self) -> EnergyReport:
        agent = self._agent

        def read() -> EnergyReport:
            if not agent.has_meter:
                raise Refused("unavailable", "no energy can be read on this host")
            total_uj = round((agent.clock() - agent.started_s) * agent.power_w * 1e6)
            at_ms, started_ms = round(agent.clock() * 1000), round(agent.started_s * 1000)
            return EnergyReport(at_ms, "boot", started_ms, agent.source, total_uj, ())

        return self._call("energy", read)

    def executors(self) -> ExecutorsReport:
        agent = self._agent
        at_ms = round(agent.clock() * 1000)
        return self._call("executors", lambda: ExecutorsReport(at_ms, tuple(agent.executors)))

    def status(self) -> Status:
        agent = self._agent

        def look() -> Status:
            policies = tuple(
                PolicyStatus(
                    each.name, True, None, agent.set_khz,
                    1_700_000 if each.name in agent.drifted else agent.set_khz or MAX_KHZ,
                    each.name in agent.drifted,
                )
                for each in agent.policies
            )  # fmt: skip
            return Status(
                "0", "host", True, 1, CALLER, agent.epoch, 1, policies, agent.source, 1, 1, 1, None
            )

        return self._call("status", look)

    def release(self) -> Released:
        def give_back() -> Released:
            self._admit()
            self._agent.end_lease()
            return Released(POLICIES, ())

        released = self._call("release", give_back)
        self._epoch = None
        return released

    def close(self) -> None:
        if self._open:
            self._open = False
            self._agent.open_clients -= 1

    def _admit(self) -> None:
        assert self._epoch is not None, "a command without a lease"
        self._sequence += 1
        self._agent.leases.admit(CALLER, self._epoch, self._sequence)

    def _call(self, name: str, carry_out: Callable[[], Result]) -> Result:
        agent = self._agent
        assert self._open, "a call on a closed client"
        agent.calls.append(name)
        agent.expire()
        fault = "lost" if agent.down else agent.faults.popleft() if agent.faults else None
        try:
            _refuse(fault)
            result = carry_out()
        except Refused as refused:
            self._told_over = self._told_over or refused.code in LEASE_CODES
            raise
        if fault == "unanswered":
            raise AgentUnreachable("here", "timed out")
        if fault == "broken":
            raise ValueError("nobody expects this")
        return result


def _refuse(fault: Fault | None) -> None:
    """Before anything is carried out."""
    if fault == "lost":
        raise AgentUnreachable("here", "connection refused")
    code = next((code for code in CODES if code == fault), None)
    if code is not None:
        raise Refused(code, f"told {fault}")
