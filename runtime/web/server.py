"""The web server of a controller, or of a journal alone: one daemon thread with its own event loop.

`publish` only hands a record over, so that the control loop never waits for a browser. At its start
the server reads the journal: a page sees the same history before and after a restart.
"""

import asyncio
import contextlib
import errno
import logging
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Self

from aiohttp import web

from mpc.values import ConfigurationSpace
from runtime.config import Config
from runtime.config.web import Web
from runtime.control.journal import StepRecord
from runtime.fleet.state import FleetState
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.facts import Facts, facts_in, facts_of
from runtime.metrics.hosts import HostView, from_fleet
from runtime.metrics.metric import Catalogue
from runtime.metrics.state import MOST_POINTS, WINDOW_S, RunState
from runtime.web.auth import Access, read_token
from runtime.web.follow import JournalTail
from runtime.web.metrics import ControllerMetrics
from runtime.web.pages import Pages
from runtime.web.stream import Stream

PORT_ATTEMPTS = 16
"""As many as Spark tries for its own page."""
FOLLOW_S = 0.5
STOP_S = 5.0
_BACKLOG = 64

_log = logging.getLogger("foresight")


class WebServer:
    """Use `start` and `stop`, or as a context manager."""

    def __init__(
        self,
        access: Access,
        port: int,
        facts: Facts,
        journal_folder: Path,
        *,
        follow: bool = False,
        hosts: Callable[[], FleetState] | None = None,
        window_s: float | None = WINDOW_S,
        catalogue: Catalogue = CATALOGUE,
        wall_s: Callable[[], float] = time.time,
    ) -> None:
        """With `follow` new steps are read from the journal too; otherwise they are published."""
        self._address = access.address
        self._port = port
        self._follow = follow
        self._fleet = hosts
        self._state = RunState(facts, window_s, catalogue=catalogue)
        self._tail = JournalTail(journal_folder, None if window_s is None else MOST_POINTS)
        self._stream = Stream()
        self._metrics = ControllerMetrics(catalogue)
        self._pages = Pages(
            access, self._state, self._stream, self._metrics, self._hosts, not follow, wall_s
        )
        self._socket: socket.socket | None = None
        self._loop: asyncio.AbstractEventLoop | None = None
        self._ending: asyncio.Event | None = None
        self._thread: threading.Thread | None = None

    @property
    def url(self) -> str:
        """Where the page is; before the start, where it will be if the port is free."""
        port = self._port if self._socket is None else self._socket.getsockname()[1]
        host = f"[{self._address}]" if ":" in self._address else self._address
        return f"http://{host}:{port}/"

    def start(self) -> Self:
        """Raises `OSError` where no port can be had."""
        self._socket = _listening(self._address, self._port)
        self._loop = asyncio.new_event_loop()
        self._ending = asyncio.Event()
        self._thread = threading.Thread(target=self._run, name="foresight-web", daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Idempotent."""
        loop, ending, thread = self._loop, self._ending, self._thread
        if loop is None or ending is None or thread is None:
            return
        with contextlib.suppress(RuntimeError):  # the loop is closed: it has ended already
            loop.call_soon_threadsafe(ending.set)
        thread.join(STOP_S)

    def publish(self, record: StepRecord) -> None:
        """A new step. Never raises and never waits; without a started server it is dropped."""
        loop = self._loop
        if loop is not None:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(self._take, record)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        assert self._loop is not None and self._socket is not None
        try:
            self._loop.run_until_complete(self._serve(self._socket))
        except Exception:
            _log.exception("the web page ended; the control loop goes on")
        finally:
            self._loop.close()
            self._socket.close()

    async def _serve(self, listening: socket.socket) -> None:
        assert self._ending is not None
        self._read_journal()
        runner = web.AppRunner(self._pages.application(), access_log=None, shutdown_timeout=1.0)
        await runner.setup()
        try:
            await web.SockSite(runner, listening, backlog=_BACKLOG).start()
            while not self._ending.is_set():
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._ending.wait(), FOLLOW_S if self._follow else None)
                if self._follow:
                    for record in self._tail.poll():
                        self._take(record)
        finally:
            self._stream.close()
            await runner.cleanup()

    def _read_journal(self) -> None:
        try:
            for record in self._tail.poll():
                self._state.add(record)
        except OSError as error:
            _log.warning("the page begins without history: %s", error)

    def _take(self, record: StepRecord) -> None:
        try:
            if not self._state.add(record):
                return
            self._metrics.observe(self._state)
            if self._stream.readers:
                self._stream.send(self._pages.step_event())
        except Exception:
            _log.exception("a step is missing on the page")

    def _hosts(self) -> tuple[HostView, ...]:
        if self._fleet is None:
            return self._state.reported_hosts
        return from_fleet(self._fleet())


def web_server(
    config: Config,
    options: Web,
    journal_folder: Path,
    hosts: Callable[[], FleetState] | None = None,
    space: ConfigurationSpace | None = None,
) -> WebServer:
    """The server of a controller that chooses from `space`; `publish` goes where `on_step` goes.

    Raises `AccessRefused`, a `ValueError`, where it would listen beyond loopback without a token.
    """
    return WebServer(
        access_of(options),
        options.port,
        facts_of(config, journal_folder.name, space),
        journal_folder,
        hosts=hosts,
    )


def journal_server(options: Web, journal_folder: Path) -> WebServer:
    """A server beside or after a run: everything comes from the journal, all of it is shown."""
    return WebServer(
        access_of(options),
        options.port,
        facts_in(journal_folder),
        journal_folder,
        follow=True,
        window_s=None,
    )


def access_of(options: Web) -> Access:
    token = None if options.token_file is None else read_token(Path(options.token_file))
    return Access(options.address, token)


def _listening(address: str, port: int) -> socket.socket:
    attempts = PORT_ATTEMPTS if port else 1
    for candidate in range(port, min(port + attempts, 65536)):
        try:
            return _bound(address, candidate)
        except OSError as error:
            if error.errno != errno.EADDRINUSE:
                raise OSError(f"cannot listen on {address}:{candidate}: {error}") from error
    raise OSError(f"ports {port} to {port + attempts - 1} of {address} are all in use")


def _bound(address: str, port: int) -> socket.socket:
    family, kind, protocol, _, place = socket.getaddrinfo(
        address, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )[0]
    listening = socket.socket(family, kind, protocol)
    try:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind(place)
        listening.listen(_BACKLOG)
        listening.setblocking(False)
    except OSError:
        listening.close()
        raise
    return listening
