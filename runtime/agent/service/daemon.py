"""The agent as a service: from its configuration to the last restored file.

It recovers what an earlier start left behind before anybody can reach it, ticks once a second, and
restores the host before it ends. The watchdog hears of every tick that completed, and of no other.
"""

import asyncio
import signal
import socket
import sys
import time
import traceback
from importlib.metadata import version
from pathlib import Path
from typing import TextIO

import msgspec

from energy.errors import HostError
from runtime.agent.core.agent import Agent, Identity
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import OriginalsJournal
from runtime.agent.core.state import StateLock
from runtime.agent.host.host import Host, open_host, open_meter, read_boot_id
from runtime.agent.service.metrics import AgentMetrics
from runtime.agent.service.notify import Notifier
from runtime.agent.service.settings import AgentConfig
from runtime.agent.wire.listener import Listener
from runtime.agent.wire.server import AgentServer
from runtime.agent.wire.sockets import bind_local, bind_tcp, unlink_local
from runtime.agent.wire.tls import ServerTls, TlsFiles
from runtime.agent.wire.trust import check_unwritable
from runtime.agent.wire.worker import Worker
from runtime.clock import SystemClock
from runtime.config.strict import ConfigError

TICK_S = 1.0
_LATE_S = 10.0
"""A tick that takes longer than this is a problem that /healthz reports."""
_GOODBYE_S = 5.0
"""For answers that are on their way when the agent stops."""
_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_BYTES_PER_MB = 1_000_000


class ServiceLog:
    """One line of JSON for each event, for the journal of systemd."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream

    def write(self, event: str, **details: str | int | None) -> None:
        line = {
            "event": event,
            **{key: value for key, value in details.items() if value is not None},
        }
        print(msgspec.json.encode(line).decode(), file=self._stream, flush=True)


def run_agent(
    config: AgentConfig,
    root: Path = Path("/"),
    config_path: Path | None = None,
    stream: TextIO | None = None,
) -> int:
    """Serve until SIGTERM; the exit code. Raises `ConfigError`, `StateError` or `OSError` for what
    must be mended before the agent can start."""
    if config_path is not None:
        check_unwritable(config_path)
    files = TlsFiles.of(config.tls)
    tls = None if files is None else ServerTls(files)
    log = ServiceLog(stream or sys.stderr)
    clock = SystemClock()
    try:
        with StateLock(Path(config.files.state)) as lock:
            audit = AuditLog(
                Path(config.files.audit), config.files.audit_max_mb * _BYTES_PER_MB, clock
            )
            host = open_host(config, root, clock)
            try:
                boot_id = read_boot_id(host.tree)
                chosen = open_meter(config.energy, host)
                agent = Agent(
                    Identity(_version(), socket.gethostname(), boot_id, host.emulated),
                    host.tree,
                    config.frequency,
                    chosen.meter,
                    chosen.reason,
                    OriginalsJournal(lock, boot_id),
                    audit,
                    clock,
                    host.executors,
                    host.load,
                )
                return asyncio.run(Daemon(config, agent, audit, host, tls, log).run())
            finally:
                host.close()
    except PermissionError as error:
        raise PermissionError(
            f"{error.filename or 'a file'}: permission denied; run the agent as root, or give it "
            "files.state, files.audit and listen.socket that it may write"
        ) from None


class Daemon:
    """The running service: one event loop, one worker thread."""

    def __init__(
        self,
        config: AgentConfig,
        agent: Agent,
        audit: AuditLog,
        host: Host,
        tls: ServerTls | None,
        log: ServiceLog,
    ) -> None:
        self._config = config
        self._agent = agent
        self._audit = audit
        self._host = host
        self._tls = tls
        self._log = log
        self._worker = Worker()
        self._metrics = AgentMetrics()
        self._notifier = Notifier.from_environment()
        self._ticked_s = time.monotonic()
        self._problem: str | None = None

    async def run(self) -> int:
        stopping = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in _SIGNALS:
            loop.add_signal_handler(number, stopping.set)
        listeners: list[Listener] = []
        server = self._server()
        try:
            await self._worker.always(self._agent.start)
            listeners += self._listen(server)
            self._notifier.send("READY=1", "STATUS=serving")
            status = await self._worker.always(self._agent.status)
            self._log.write("ready", problem=status.last_problem)
            await self._tick_until(stopping)
        finally:
            problem = await self._stop(server, listeners)
        return 0 if problem is None else 1

    def _server(self) -> AgentServer:
        return AgentServer(
            self._agent,
            self._audit,
            self._worker,
            self._metrics,
            self._config.guard,
            self._config.tls.allowed,
            self._tls,
            self._follow,
            self._late,
            self._on_failure,
        )

    def _listen(self, server: AgentServer) -> list[Listener]:
        bound = {"tcp": bind_tcp(self._config.listen, self._tls is not None)}
        try:
            bound["local"] = bind_local(self._config.listen)
        except BaseException:
            if bound["tcp"] is not None:
                bound["tcp"].close()
            raise
        listeners = []
        for name, listening in bound.items():
            if listening is None:
                continue
            # Counted apart: whoever fills up TCP does not lock the administrator out.
            listener = Listener(
                listening,
                server.connections,
                self._tls if name == "tcp" else None,
                self._config.guard.max_connections,
                server.turn_away,
            )
            listener.start()
            self._metrics.watch_connections(name, listener)
            self._log.write("listening", listener=name, **_place(listening))
            listeners.append(listener)
        return listeners

    async def _tick_until(self, stopping: asyncio.Event) -> None:
        loop = asyncio.get_running_loop()
        next_s = loop.time()
        while not stopping.is_set():
            if await self._worker.always(self._tick):
                self._ticked_s = time.monotonic()
                self._notifier.send("WATCHDOG=1")
            # Ticks that were missed are not made up for.
            next_s = max(next_s + TICK_S, loop.time())
            try:
                async with asyncio.timeout_at(next_s):
                    await stopping.wait()
            except TimeoutError:
                continue

    def _tick(self) -> bool:
        """In the worker. Whether all of it was done."""
        begin_s = time.monotonic()
        try:
            self._follow()
            self._agent.tick()
            self._refresh_tls()
        except Exception as error:
            self._on_failure(error)
            return False
        self._metrics.ticked(time.monotonic() - begin_s)
        return True

    def _follow(self) -> None:
        """In the worker."""
        try:
            self._host.follow()
        except HostError as error:
            self._log_once(str(error))
        else:
            self._problem = None

    def _refresh_tls(self) -> None:
        if self._tls is None:
            return
        try:
            renewed = self._tls.refresh()
        except ConfigError as error:
            self._audit.event("certificates_refused", message=str(error))
            self._log.write("certificates_refused", message=str(error))
            return
        if renewed:
            self._audit.event("certificates_renewed")
            self._log.write("certificates_renewed")

    async def _stop(self, server: AgentServer, listeners: list[Listener]) -> str | None:
        """Restore first, and whatever happens; then say goodbye. What is still wrong."""
        self._notifier.send("STOPPING=1")
        for listener in listeners:
            listener.stop()
        released = await self._worker.always(self._agent.stop)
        problem = (await self._worker.always(self._agent.status)).last_problem
        server.connections.pre_shutdown()  # idle ones do not make it wait
        await server.connections.shutdown(_GOODBYE_S)
        for listener in listeners:
            await listener.close()
        self._worker.close()
        if not listeners:
            return problem  # it never served; the reason is on its way up
        unlink_local(Path(self._config.listen.socket))
        self._log.write(
            "stopped",
            restored=len(released.restored),
            left_alone=len(released.left_alone),
            problem=problem,
        )
        return problem

    def _late(self) -> str | None:
        late_s = time.monotonic() - self._ticked_s
        return None if late_s < _LATE_S else f"the last tick was {late_s:.0f} s ago"

    def _on_failure(self, error: BaseException | None) -> None:
        words = "".join(traceback.format_exception(error)) if error is not None else "unknown"
        self._log_once(words)

    def _log_once(self, problem: str) -> None:
        """Once for each, not once a second."""
        if problem != self._problem:
            self._problem = problem
            self._log.write("problem", message=problem)


def _place(listening: socket.socket) -> dict[str, str | int]:
    name = listening.getsockname()
    return {"path": name} if isinstance(name, str) else {"address": name[0], "port": name[1]}


def _version() -> str:
    return version("foresight-autoscaler")
