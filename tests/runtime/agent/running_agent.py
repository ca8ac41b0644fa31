"""Runs the network side of an agent on real sockets in a thread, for tests of this process."""

import asyncio
import shutil
import socket
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar

from energy.cpufreq.policy import LimitOutcome
from energy.meters.contract import Zone
from runtime.agent.service.metrics import AgentMetrics
from runtime.agent.service.settings import CallerLimits, Listen
from runtime.agent.wire.callers import Caller
from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.listener import Listener
from runtime.agent.wire.messages import (
    EnergyReport,
    ExecutorsReport,
    FrequencyRequest,
    FrequencySet,
    Hello,
    LeaseGranted,
    LeaseRequest,
    PolicyStatus,
    Released,
    ReleaseRequest,
    Renewed,
    RenewRequest,
    Status,
)
from runtime.agent.wire.refusals import Code
from runtime.agent.wire.server import AgentServer, AuditPort, CommandPort
from runtime.agent.wire.sockets import bind_local
from runtime.agent.wire.tls import ServerTls, TlsFiles
from runtime.agent.wire.worker import Worker

PATIENCE_S = 60.0
"""How long a condition may take on a loaded machine; nothing waits that long when all is well."""
# Nobody meets these limits by chance on a slow machine.
GUARD = CallerLimits(requests_per_s=10_000, burst=10_000, timeout_s=60, idle_timeout_s=600)

Result = TypeVar("Result")


def wait_for(condition: Callable[[], Result | None], what: str) -> Result:
    """The first result that counts as true."""
    deadline = time.monotonic() + PATIENCE_S
    while time.monotonic() < deadline:
        result = condition()
        if result:
            return result
        time.sleep(0.01)
    raise AssertionError(f"waited in vain for {what}")


class RecordingAudit:
    """Keeps what the network refused."""

    def __init__(self) -> None:
        self.lines: list[tuple[str, str, Code, str]] = []

    def refused(self, caller: str, action: str, code: Code, message: str) -> None:
        self.lines.append((caller, action, code, message))

    def codes(self) -> list[Code]:
        return [code for _, _, code, _ in self.lines]


class StandIn:
    """A core that grants everything and remembers the commands."""

    def __init__(self) -> None:
        self.begun = 0
        self.commands: list[tuple[str, Caller, object]] = []
        self.gate = threading.Event()
        """Commands wait until it is set, as it is unless a test clears it."""
        self.gate.set()
        self.broken = False
        self.policies = 2

    def _take(self, action: str, caller: Caller, request: object) -> None:
        self.begun += 1
        assert self.gate.wait(PATIENCE_S)
        self.commands.append((action, caller, request))

    def hello(self) -> Hello:
        return Hello("0", "host", "boot", True, (), None, False, "powercap", "emulated", None)

    def lease(self, caller: Caller, request: LeaseRequest) -> LeaseGranted:
        self._take("lease", caller, request)
        return LeaseGranted(7, caller.name)

    def renew(self, caller: Caller, request: RenewRequest) -> Renewed:
        self._take("renew", caller, request)
        return Renewed(request.epoch, 3000)

    def set_frequency(self, caller: Caller, request: FrequencyRequest) -> FrequencySet:
        self._take("set_frequency", caller, request)
        outcome = LimitOutcome("policy0", request.max_khz, request.max_khz, False, 1_000_000)
        return FrequencySet((outcome,), ())

    def release(self, caller: Caller, request: ReleaseRequest) -> Released:
        self._take("release", caller, request)
        return Released(("policy0",), ())

    def release_as_administrator(self, caller: Caller) -> Released:
        self._take("release_as_administrator", caller, None)
        return Released(("policy0",), ())

    def energy(self) -> EnergyReport:
        zones = (Zone("package-0", 2_500_000, None), Zone("psys", None, "unreadable"))
        return EnergyReport(5000, "boot", 1000, "emulated", 2_500_000, zones)

    def executors(self) -> ExecutorsReport:
        return ExecutorsReport(5000, ())

    def status(self) -> Status:
        if self.broken:
            raise ZeroDivisionError("secret")
        first = PolicyStatus("policy0", True, 2_000_000, 1_500_000, 1_500_000, False)
        second = PolicyStatus("policy1", True, 2_000_000, 1_500_000, 1_800_000, True)
        policies = (first, second) * (self.policies // 2)
        return Status(
            "0", "host", True, 4000, "controller", 7, 2000, policies, "emulated", 2_500_000, 3, 1,
            None,
        )  # fmt: skip


class Service:
    """A server with a TCP and a UNIX listener; leave the `with` block and all of it is gone."""

    def __init__(
        self,
        agent: CommandPort | None = None,
        audit: AuditPort | None = None,
        tls: TlsFiles | None = None,
        guard: CallerLimits = GUARD,
        allowed: tuple[str, ...] = ("controller",),
        most_waiting: int = 64,
    ) -> None:
        self.core = StandIn()
        self.recorded = RecordingAudit()
        self.agent = agent or self.core
        self.audit = audit or self.recorded
        self.tls = None if tls is None else ServerTls(tls)
        self.guard = guard
        self.allowed = allowed
        self.worker = Worker(most_waiting)
        self.metrics = AgentMetrics()
        self.unhealthy: str | None = None
        self.failures: list[BaseException | None] = []
        self.followed = 0
        self.loop = asyncio.new_event_loop()
        # The path of a UNIX socket is short, that of a test's folder need not be.
        self._folder = Path(tempfile.mkdtemp(prefix="fa-"))
        self.path = self._folder / "agent.sock"
        self._thread = threading.Thread(target=self.loop.run_forever, name="service")
        self.tcp: Listener
        self.local: Listener

    def __enter__(self) -> Self:
        self._thread.start()
        self.call(self._start)
        self.port: int = self.tcp.socket.getsockname()[1]
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.core.gate.set()
        try:
            self.call(self._stop)
        finally:
            self.loop.call_soon_threadsafe(self.loop.stop)
            self._thread.join(PATIENCE_S)
            self.loop.close()
            self.worker.close()
            shutil.rmtree(self._folder)

    def call(self, function: Callable[[], Awaitable[Result]]) -> Result:
        """Run a coroutine function in the loop of the service."""

        async def run() -> Result:
            return await function()

        future: Future[Result] = asyncio.run_coroutine_threadsafe(run(), self.loop)
        return future.result(PATIENCE_S)

    def connect(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), PATIENCE_S)

    def client(self, tls: TlsFiles | None = None) -> AgentClient:
        return AgentClient.remote("127.0.0.1", self.port, tls, PATIENCE_S)

    def local_client(self) -> AgentClient:
        return AgentClient.local(self.path, PATIENCE_S)

    def audited(self, code: str) -> tuple[str, str, Code, str]:
        """Wait for the line of a refusal: it is written after the answer."""
        return wait_for(
            lambda: next((line for line in self.recorded.lines if line[2] == code), None),
            f"the audit of {code}",
        )

    def hang_up(self) -> None:
        """Close every connection from this side, as an agent that restarts does."""

        async def close() -> None:
            for connection in self._server.connections.connections:
                connection.force_close()

        self.call(close)
        wait_for(lambda: len(self.tcp) == len(self.local) == 0, "the end of all connections")

    def _follow(self) -> None:
        self.followed += 1

    async def _start(self) -> None:
        server = AgentServer(
            self.agent,
            self.audit,
            self.worker,
            self.metrics,
            self.guard,
            self.allowed,
            self.tls,
            self._follow,
            lambda: self.unhealthy,
            self.failures.append,
        )
        self._server = server
        listening = socket.create_server(("127.0.0.1", 0))
        limit = self.guard.max_connections
        self.tcp = Listener(listening, server.connections, self.tls, limit, server.turn_away)
        self.local = Listener(
            bind_local(Listen(socket=str(self.path))),
            server.connections,
            None,
            limit,
            server.turn_away,
        )
        self.tcp.start()
        self.local.start()

    async def _stop(self) -> None:
        self.tcp.stop()
        self.local.stop()
        self._server.connections.pre_shutdown()
        await self._server.connections.shutdown(PATIENCE_S)
        await self.tcp.close()
        await self.local.close()
        # Let transports that were told to close do so.
        for _ in range(5):
            await asyncio.sleep(0)
