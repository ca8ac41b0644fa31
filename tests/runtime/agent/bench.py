"""A host under test: the emulated kernel, the agent's folder, a clock that stands, and death."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from energy.emulation.description import HostDescription
from energy.meters.contract import Meter
from energy.tree import CPUFREQ, Tree
from runtime.agent.core.agent import Agent, Identity
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import OriginalsJournal
from runtime.agent.core.state import StateLock
from runtime.agent.host.executors import Executor
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.callers import Caller
from runtime.agent.wire.messages import (
    FrequencyRequest,
    FrequencySet,
    LeaseRequest,
    Released,
    ReleaseRequest,
)
from runtime.files import ReplacedFile
from tests.support.clock import ManualClock
from tests.support.faulty_host import FaultyHost

ALICE = Caller("alice", "certificate", may_command=True, administrator=False)
BOB = Caller("bob", "certificate", may_command=True, administrator=False)
READER = Caller("reader", "certificate", may_command=False, administrator=False)
ROOT = Caller("root", "local", may_command=True, administrator=True)

FREE = FrequencyRules(min_dwell_ms=0)


class Killed(BaseException):
    """SIGKILL: no handler of the agent may catch it."""


class Fate:
    """Kills before a chosen operation that has an effect; the dead do nothing any more.

    Reads are not counted: death on either side of one leaves the same behind.
    """

    def __init__(self) -> None:
        self.effects = 0
        self.left: int | None = None
        self.dead = False

    def read(self) -> None:
        if self.dead:
            raise Killed

    def effect(self) -> None:
        if self.dead or self.left == 0:
            self.dead = True
            raise Killed
        if self.left is not None:
            self.left -= 1
        self.effects += 1


class MortalTree:
    """A tree whose user may die before any write."""

    def __init__(self, tree: Tree, fate: Fate) -> None:
        self._tree = tree
        self._fate = fate
        self.writes: list[tuple[str, str]] = []

    def read(self, path: str) -> str:
        self._fate.read()
        return self._tree.read(path)

    def write(self, path: str, text: str) -> None:
        self._fate.effect()
        self.writes.append((path, text))
        self._tree.write(path, text)

    def names(self, path: str) -> tuple[str, ...]:
        self._fate.read()
        return self._tree.names(path)

    def mode(self, path: str) -> int | None:
        self._fate.read()
        return self._tree.mode(path)


class MortalFile(ReplacedFile):
    """A file whose writer may die before, between and in the middle of its steps."""

    def __init__(self, path: Path, fate: Fate) -> None:
        super().__init__(path, durable=True)
        self._fate = fate
        self.saves = 0

    def _write(self, data: bytes) -> None:
        self._fate.effect()
        try:
            self._fate.effect()
        except Killed:
            super()._write(data[: len(data) // 2])
            raise
        super()._write(data)

    def _rename(self) -> None:
        self._fate.effect()
        super()._rename()

    def _sync_folder(self) -> None:
        self._fate.effect()
        super()._sync_folder()
        self.saves += 1


class MortalJournal(OriginalsJournal):
    """A journal in such a file."""

    def __init__(self, lock: StateLock, boot_id: str, fate: Fate) -> None:
        super().__init__(lock, boot_id)
        self._file: MortalFile = MortalFile(self.path, fate)

    @property
    def saves(self) -> int:
        return self._file.saves


class Bench:
    """One host and the agents that come and go on it."""

    def __init__(
        self,
        folder: Path,
        host: FaultyHost | None = None,
        rules: FrequencyRules = FREE,
        meter: Meter | None = None,
        executors: Callable[[], tuple[Executor, ...]] = tuple,
    ) -> None:
        self.folder = folder
        self.host = host or FaultyHost(HostDescription(cpus=4))
        self.rules = rules
        self.meter = meter
        self.executors = executors
        self.clock = ManualClock()
        self.boot_id = "first boot"
        self.fate = Fate()
        self.lock: StateLock | None = None
        self.epoch = 0
        self.sequence = 0

    def start(self) -> Agent:
        """A new agent on the same host; the one before has ended or died."""
        self.close()
        self.fate.dead = False
        self.lock = StateLock(self.folder / "state")
        self.journal = MortalJournal(self.lock, self.boot_id, self.fate)
        self.tree = MortalTree(self.host, self.fate)
        self.audit = AuditLog(self.folder / "log" / "audit.jsonl", 10_000_000, self.clock)
        self.agent = Agent(
            identity=Identity("1.0", "worker", self.boot_id, emulated=True),
            tree=self.tree,
            rules=self.rules,
            meter=self.meter,
            meter_reason=None if self.meter is not None else "no counter here",
            journal=self.journal,
            audit=self.audit,
            clock=self.clock,
            executors=self.executors,
        )
        self.agent.start()
        return self.agent

    def close(self) -> None:
        """What the kernel does when a process ends."""
        if self.lock is not None:
            self.lock.release()
            self.lock = None

    def take(self, caller: Caller = ALICE, take_over: bool = False) -> int:
        granted = self.agent.lease(caller, LeaseRequest(1000, take_over))
        self.epoch, self.sequence = granted.epoch, 0
        return granted.epoch

    def next(self) -> int:
        self.sequence += 1
        return self.sequence

    def cap(
        self,
        max_khz: int,
        *policies: str,
        min_khz: int | None = None,
        caller: Caller = ALICE,
    ) -> FrequencySet:
        return self.agent.set_frequency(
            caller,
            FrequencyRequest(self.epoch, self.next(), max_khz, min_khz, policies or None),
        )

    def release(self, caller: Caller = ALICE) -> Released:
        return self.agent.release(caller, ReleaseRequest(self.epoch, self.next()))

    def events(self, *names: str) -> list[dict[str, Any]]:
        lines = (self.folder / "log" / "audit.jsonl").read_text().splitlines()
        found = [json.loads(line) for line in lines]
        return [line for line in found if not names or line["event"] in names]


def attribute(policy: str, name: str = "scaling_max_freq") -> str:
    return f"{CPUFREQ}/{policy}/{name}"
