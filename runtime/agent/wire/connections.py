"""One connection after it was accepted, and the bounds on what it may cost.

It must complete each request in time, take each answer in time, and may stay idle only so long;
whatever aiohttp would answer by itself is answered with a code here.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

from aiohttp import web
from aiohttp.abc import AbstractStreamWriter
from aiohttp.http_parser import RawRequestMessage
from aiohttp.streams import StreamReader

from runtime.agent.wire.answers import raw_refusal, refusal_response
from runtime.agent.wire.callers import Peer
from runtime.agent.wire.decode import LARGEST_BODY
from runtime.agent.wire.refusals import Code, Refused

LONGEST_LINE = 2048
LONGEST_HEADER = 4096
MOST_HEADERS = 48
_LONGEST_REASON = 100
_LINGER_S = 1.0
"""How long what follows a refused beginning is still read, so that its sender gets to see the
answer: a close with unread bytes would reset the connection."""

Handler = Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]


class ConnectionServer(web.Server):
    """Makes connections, and knows who they are and who hears about their refusals."""

    def __init__(
        self,
        handler: Handler,
        identify: Callable[[asyncio.BaseTransport], Peer],
        on_refused: Callable[[Peer | None, str, Refused], None],
        on_failure: Callable[[BaseException | None], None],
        timeout_s: float,
        idle_timeout_s: float,
    ) -> None:
        super().__init__(handler, request_factory=self._bounded_request)
        self.identify = identify
        self.on_refused = on_refused
        self.on_failure = on_failure
        self.timeout_s = timeout_s
        self.idle_timeout_s = idle_timeout_s

    def connection(self, generation: int | None) -> "Connection":
        return Connection(self, self._loop, generation)

    def _bounded_request(
        self,
        message: RawRequestMessage,
        payload: StreamReader,
        protocol: web.RequestHandler,
        writer: AbstractStreamWriter,
        task: "asyncio.Task[None]",
    ) -> web.BaseRequest:
        return web.BaseRequest(
            message, payload, protocol, writer, task, self._loop, client_max_size=LARGEST_BODY
        )


class Connection(web.RequestHandler):
    """aiohttp's protocol with a deadline for every request and a code for every error."""

    def __init__(
        self, server: ConnectionServer, loop: asyncio.AbstractEventLoop, generation: int | None
    ) -> None:
        super().__init__(
            server,
            loop=loop,
            keepalive_timeout=server.idle_timeout_s,
            lingering_time=_LINGER_S,
            max_line_size=LONGEST_LINE,
            max_field_size=LONGEST_HEADER,
            max_headers=MOST_HEADERS,
            # A body may say that it is compressed; it is refused, never unpacked.
            auto_decompress=False,
        )
        self.peer: Peer | None = None
        """None until the connection is made, TLS handshake included."""
        self.generation = generation
        """The set of TLS files it was made under; None without TLS."""
        self.lost = asyncio.Event()
        self._server = server
        self._timeout_s = server.timeout_s
        self._deadline: asyncio.TimerHandle | None = None
        self._aborting: asyncio.TimerHandle | None = None
        self._made: asyncio.Transport | None = None
        self._busy = False
        self._closing = False
        self._unreadable = False
        self._malformed = False

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.peer = self._server.identify(transport)
        super().connection_made(transport)
        # aiohttp forgets its own as soon as it has asked it to close.
        self._made = self.transport
        self._begin_deadline()

    def connection_lost(self, exc: BaseException | None) -> None:
        # aiohttp would go on waiting for the rest of a body that can no longer come.
        answered = self._task_handler if self._closing else None
        super().connection_lost(exc)
        if answered is not None:
            answered.cancel()
        for timer in (self._deadline, self._aborting):
            if timer is not None:
                timer.cancel()
        self._made = None
        self.lost.set()

    def data_received(self, data: bytes) -> None:
        if self._unreadable:
            return
        if data and self._deadline is None and not self._closing:
            self._begin_deadline()
        super().data_received(data)
        # After an error the parser has lost the thread; aiohttp would feed it on and on.
        self._unreadable = bool(self._messages) and hasattr(self._messages[-1][0], "exc")

    def begin_request(self) -> float:
        """The headers are there; returns the loop time by which the body must be, too."""
        self._busy = True
        if self._deadline is None:
            return self._loop.time() + self._timeout_s
        return self._deadline.when()

    def complete_request(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None

    async def finish_response(
        self, request: web.BaseRequest, resp: web.StreamResponse, start_time: float | None
    ) -> tuple[web.StreamResponse, bool]:
        """Send the answer; a caller that does not take it is cut off."""
        self.complete_request()
        try:
            async with asyncio.timeout(self._timeout_s):
                sent = await super().finish_response(request, resp, start_time)
        except TimeoutError:
            self.abort()
            return resp, True
        finally:
            self._busy = False
        if not resp.keep_alive:
            self._close_soon()
        if self._malformed:
            await self._linger()
        return sent

    def force_close(self) -> None:
        super().force_close()
        self._close_soon()

    def abort(self) -> None:
        """Close without waiting for anybody."""
        if self._made is not None:
            self._made.abort()

    def handle_error(
        self,
        request: web.BaseRequest,
        status: int = 500,
        exc: BaseException | None = None,
        message: str | None = None,
    ) -> web.StreamResponse:
        """The answers aiohttp makes itself: malformed HTTP, and whatever else escapes."""
        if isinstance(exc, ConnectionError) or request.writer.output_size > 0:
            raise ConnectionError("the caller is gone, or has half of an answer already")
        code: Code = "bad_request" if status < 500 else "internal"
        words = (message or "").split("\n")[0].strip()[:_LONGEST_REASON]
        if code == "internal":
            self._server.on_failure(exc)
        refused = Refused(code, f"malformed HTTP: {words}" if words else "the request failed")
        self._server.on_refused(self.peer, "http", refused)
        self._malformed = True
        response = refusal_response(refused)
        response.force_close()
        return response

    async def _linger(self) -> None:
        """Wait until the caller has seen the answer and closes."""
        with suppress(TimeoutError):
            async with asyncio.timeout(_LINGER_S):
                await self.lost.wait()

    def _begin_deadline(self) -> None:
        self._deadline = self._loop.call_later(self._timeout_s, self._expire)

    def _expire(self) -> None:
        self._deadline = None
        if self._busy:
            # The handler keeps the time for its body itself. If it is past that, these were the
            # first bytes of the next request, which must wait for this one.
            self._begin_deadline()
            return
        if self.transport is not None and not self._closing:
            refused = Refused("timeout", f"no complete request within {self._timeout_s:g} s")
            self._server.on_refused(self.peer, "http", refused)
            self.transport.write(raw_refusal(refused))
        self.force_close()

    def _close_soon(self) -> None:
        """A close waits until the caller has taken what was sent, but not for ever."""
        self._closing = True
        if self._made is not None and self._aborting is None:
            self._aborting = self._loop.call_later(2 * self._timeout_s, self.abort)
