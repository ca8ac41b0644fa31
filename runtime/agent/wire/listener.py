"""Accepts connections on one listening socket and keeps their number bounded.

A connection counts from the moment it is accepted, so that those still shaking hands count too.
Each takes the TLS context of its moment: new certificates need no new socket.
"""

import asyncio
import socket
from collections.abc import Callable
from contextlib import suppress

from runtime.agent.wire.answers import raw_refusal
from runtime.agent.wire.connections import ConnectionServer
from runtime.agent.wire.refusals import Refused
from runtime.agent.wire.tls import ServerTls, handshake_words

_AT_ONCE = 16
"""Accepted in one turn of the loop, so that a flood of connections does not hold it."""
_PAUSE_S = 1.0
"""Until the next try when the process is out of descriptors."""


class Listener:
    """One socket; closing it leaves its connections to finish what they do."""

    def __init__(
        self,
        listening: socket.socket,
        server: ConnectionServer,
        tls: ServerTls | None,
        max_connections: int,
        on_refused: Callable[[str, Refused], None],
    ) -> None:
        listening.setblocking(False)
        self.socket = listening
        self._server = server
        self._tls = tls
        self._max_connections = max_connections
        self._on_refused = on_refused
        self._loop = asyncio.get_running_loop()
        self._connections: set[asyncio.Task[None]] = set()
        self._pause: asyncio.TimerHandle | None = None

    def __len__(self) -> int:
        """Connections that are open, or shaking hands."""
        return len(self._connections)

    def start(self) -> None:
        self._pause = None
        self._loop.add_reader(self.socket.fileno(), self._accept)

    def stop(self) -> None:
        """Accept nothing more."""
        if self._pause is not None:
            self._pause.cancel()
        if self.socket.fileno() >= 0:
            self._loop.remove_reader(self.socket.fileno())
            self.socket.close()

    async def close(self) -> None:
        """Accept nothing more and cut off what is still there."""
        self.stop()
        await asyncio.sleep(0)  # a task that has not begun could not close its socket
        for task in self._connections:
            task.cancel()
        await asyncio.gather(*self._connections, return_exceptions=True)

    def _accept(self) -> None:
        for _ in range(_AT_ONCE):
            try:
                accepted, address = self.socket.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:
                self._loop.remove_reader(self.socket.fileno())
                self._pause = self._loop.call_later(_PAUSE_S, self.start)
                return
            accepted.setblocking(False)
            if len(self._connections) >= self._max_connections:
                self._turn_away(accepted, address)
                continue
            task = self._loop.create_task(self._serve(accepted, address))
            self._connections.add(task)
            task.add_done_callback(self._connections.discard)

    def _turn_away(self, accepted: socket.socket, address: object) -> None:
        refused = Refused(
            "too_many_connections", f"{self._max_connections} connections are open already"
        )
        if self._tls is None:
            with suppress(OSError):
                accepted.send(raw_refusal(refused))
        accepted.close()
        self._on_refused(_host(address), refused)

    async def _serve(self, accepted: socket.socket, address: object) -> None:
        tls = self._tls
        connection = self._server.connection(None if tls is None else tls.generation)
        timeout_s = None if tls is None else self._server.timeout_s
        try:
            await self._loop.connect_accepted_socket(
                lambda: connection,
                accepted,
                ssl=None if tls is None else tls.context,
                ssl_handshake_timeout=timeout_s,
                ssl_shutdown_timeout=timeout_s,
            )
        except OSError as error:
            words = f"the TLS handshake failed, {handshake_words(error)}"
            self._on_refused(_host(address), Refused("not_allowed", words))
            return
        try:
            await connection.lost.wait()
        except asyncio.CancelledError:
            connection.abort()
            await connection.lost.wait()
            raise


def _host(address: object) -> str:
    return str(address[0]) if isinstance(address, tuple) else "local"
