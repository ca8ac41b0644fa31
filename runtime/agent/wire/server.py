"""The agent's HTTP API: ten fixed paths, each with one method, one struct in and one out.

A request is refused at the first thing wrong with it, in this order: host name, rate, caller, path,
method, media type, size, fields; only then does the core see it. What the network refuses it also
reports to the audit log; the core reports its own.
"""

import asyncio
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal, Protocol

from aiohttp import hdrs, web

from runtime.agent.service.metrics import CONTENT_TYPE, AgentMetrics
from runtime.agent.service.settings import CallerLimits
from runtime.agent.wire.answers import JSON, answer_response, refusal_response, text_response
from runtime.agent.wire.callers import Caller, Peer, identify, is_loopback_host
from runtime.agent.wire.connections import Connection, ConnectionServer
from runtime.agent.wire.decode import LARGEST_BODY, AnyRequest, decode, too_large
from runtime.agent.wire.messages import (
    Answer,
    EnergyReport,
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
from runtime.agent.wire.rate_limit import RateLimit
from runtime.agent.wire.refusals import Code, Refused
from runtime.agent.wire.tls import ServerTls
from runtime.agent.wire.worker import Worker

_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"


class CommandPort(Protocol):
    """The core, as far as callers reach it."""

    def hello(self) -> Hello: ...
    def lease(self, caller: Caller, request: LeaseRequest) -> LeaseGranted: ...
    def renew(self, caller: Caller, request: RenewRequest) -> Renewed: ...
    def set_frequency(self, caller: Caller, request: FrequencyRequest) -> FrequencySet: ...
    def release(self, caller: Caller, request: ReleaseRequest) -> Released: ...
    def release_as_administrator(self, caller: Caller) -> Released: ...
    def energy(self) -> EnergyReport: ...
    def executors(self) -> ExecutorsReport: ...
    def status(self) -> Status: ...


class AuditPort(Protocol):
    """The audit log, as far as refusals of the network reach it."""

    def refused(self, caller: str, action: str, code: Code, message: str) -> None: ...


class Health(Answer, frozen=True):
    status: Literal["ok"]


@dataclass(frozen=True, slots=True)
class Route:
    method: Literal["GET", "POST"]
    action: str
    prepare: Callable[[Caller, bytes], Callable[[], Answer]] | None
    """Decodes the body and returns what is to run in the worker; None: the server answers."""
    open_to_all: bool = False
    """Whether any certificate of the authority will do, also one that may not command."""


class AgentServer:
    """Answers requests of all listeners."""

    def __init__(
        self,
        agent: CommandPort,
        audit: AuditPort,
        worker: Worker,
        metrics: AgentMetrics,
        guard: CallerLimits,
        allowed: tuple[str, ...],
        tls: ServerTls | None,
        after_command: Callable[[], None],
        unhealthy: Callable[[], str | None],
        on_failure: Callable[[BaseException | None], None],
    ) -> None:
        self._agent = agent
        self._audit = audit
        self._worker = worker
        self._metrics = metrics
        self._allowed = allowed
        self._tls = tls
        self._after_command = after_command
        self._unhealthy = unhealthy
        self._on_failure = on_failure
        self._rates = RateLimit(guard.requests_per_s, guard.burst)
        self._routes = _routes(agent)
        self.connections = ConnectionServer(
            self._handle,
            lambda transport: identify(transport, self._allowed),
            self._refuse,
            on_failure,
            guard.timeout_s,
            guard.idle_timeout_s,
        )

    def turn_away(self, host: str, refused: Refused) -> None:
        """For the listeners: who did not get as far as a connection."""
        self._metrics.count("connect", refused.code)
        self._audit_soon(host, "connect", refused.code, str(refused))

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        connection = request.protocol
        assert isinstance(connection, Connection) and connection.peer is not None
        deadline = connection.begin_request()
        route = self._routes.get(request.raw_path)
        action = "http" if route is None else route.action
        try:
            response = await self._answer(request, connection, connection.peer, route, deadline)
            self._metrics.count(action, "accepted")
        except Refused as refused:
            self._metrics.count(action, refused.code)
            response = refusal_response(refused)
        except ConnectionError:
            raise
        except Exception as error:
            self._on_failure(error)
            self._metrics.count(action, "internal")
            response = refusal_response(Refused("internal", "the agent failed, see its log"))
        # A body nobody read would be taken for the next request; and what was proven under
        # replaced certificates must be proven again.
        proven = connection.generation
        if (
            self._tls and proven not in (None, self._tls.generation)
        ) or not request.content.is_eof():
            response.force_close()
        return response

    async def _answer(
        self,
        request: web.BaseRequest,
        connection: Connection,
        peer: Peer,
        route: Route | None,
        deadline: float,
    ) -> web.Response:
        try:
            route = self._admit(request, peer, route)
            body = await _body(request, deadline) if route.method == "POST" else b""
            command = None if route.prepare is None else route.prepare(peer.caller, body)
        except Refused as refused:
            action = "http" if route is None else route.action
            self._note(peer, action, refused)
            raise
        connection.complete_request()
        if command is not None:
            return answer_response(await self._worker.call(partial(self._run, route, command)))
        if route.action == "metrics":
            return text_response(await self._worker.call(self._render_metrics), CONTENT_TYPE)
        problem = self._unhealthy()
        if problem is not None:
            raise Refused("unavailable", problem)
        return answer_response(Health("ok"))

    def _admit(self, request: web.BaseRequest, peer: Peer, route: Route | None) -> Route:
        """The route of a request that may go on; everything but its body is known here."""
        if peer.checks_host and not is_loopback_host(request.headers.get(hdrs.HOST)):
            host = request.headers.get(hdrs.HOST)
            raise Refused(
                "not_allowed", "the Host header names another machine", "Host", host, "loopback"
            )
        caller = peer.caller
        wait_s = self._rates.take(caller.name, asyncio.get_running_loop().time())
        if wait_s is not None:
            raise Refused("rate_limited", f"too many requests, try again in {wait_s:.3f} s")
        if peer.ends_s is not None and time.time() > peer.ends_s:
            raise Refused("not_allowed", f"the certificate of {caller.name} has expired")
        if not caller.may_command and not (route is not None and route.open_to_all):
            raise Refused("not_allowed", f"{caller.name} is not on the list of allowed names")
        if route is None:
            if request.raw_path.partition("?")[0] in self._routes:
                raise Refused("bad_request", "no path of the agent takes a query")
            raise Refused("not_found", "no such path", "path", request.raw_path)
        if request.method != route.method:
            raise Refused(
                "method_not_allowed", "wrong method", "method", request.method, route.method
            )
        _check_headers(request, route)
        return route

    def _run(self, route: Route, command: Callable[[], Answer]) -> Answer:
        """In the worker."""
        answer = command()
        if route.method == "POST":
            self._after_command()
        return answer

    def _render_metrics(self) -> bytes:
        try:
            energy = self._agent.energy()
        except Refused:
            energy = None
        return self._metrics.render(self._agent.status(), energy)

    def _refuse(self, peer: Peer | None, action: str, refused: Refused) -> None:
        """For the connections: what was refused before there was a request."""
        self._metrics.count(action, refused.code)
        if peer is not None:
            self._note(peer, action, refused)

    def _note(self, peer: Peer, action: str, refused: Refused) -> None:
        message = f"{refused} (from {peer.address})"
        self._audit_soon(peer.caller.name, action, refused.code, message)

    def _audit_soon(self, caller: str, action: str, code: Code, message: str) -> None:
        """An answer does not wait for the disk."""
        if not self._worker.note(partial(self._audit.refused, caller, action, code, message)):
            self._metrics.unaudited += 1


def _check_headers(request: web.BaseRequest, route: Route) -> None:
    if route.method == "GET":
        if request.body_exists:
            raise Refused("bad_request", "a GET has no body")
        return
    if request.content_type != JSON:
        raise Refused(
            "unsupported_media_type", "wrong type", "Content-Type", request.content_type, JSON
        )
    encoding = request.headers.get(hdrs.CONTENT_ENCODING)
    if encoding is not None:
        raise Refused(
            "unsupported_media_type", "must be plain", "Content-Encoding", encoding, "none"
        )
    if request.content_length is not None and request.content_length > LARGEST_BODY:
        raise too_large(request.content_length)
    expected = request.headers.get(hdrs.EXPECT)
    if expected is not None and expected.lower() != "100-continue":
        raise Refused("bad_request", "cannot be met", "Expect", expected, "100-continue")


async def _body(request: web.BaseRequest, deadline: float) -> bytes:
    try:
        async with asyncio.timeout_at(deadline):
            if hdrs.EXPECT in request.headers:
                await request.writer.write(_CONTINUE)
                # Counted as output it would look like the beginning of the answer.
                request.writer.output_size = 0
            return await request.read()
    except TimeoutError:
        raise Refused("timeout", "the body did not arrive in time") from None
    except web.HTTPRequestEntityTooLarge:
        raise Refused(
            "too_large", "the body is too large", "body", allowed=f"at most {LARGEST_BODY} bytes"
        ) from None
    except web.RequestPayloadError as error:
        raise Refused("bad_request", f"malformed body: {error}"[:200]) from None


def _routes(agent: CommandPort) -> dict[str, Route]:
    def release(caller: Caller, body: bytes) -> Callable[[], Released]:
        # An administrator holds no lease and so has no epoch to give.
        if caller.administrator and body.strip() == b"{}":
            return partial(agent.release_as_administrator, caller)
        return partial(agent.release, caller, decode(body, ReleaseRequest))

    return {
        "/v1/hello": Route("GET", "hello", lambda *_: agent.hello),
        "/v1/lease": _command("lease", agent.lease, LeaseRequest),
        "/v1/renew": _command("renew", agent.renew, RenewRequest),
        "/v1/frequency": _command("set_frequency", agent.set_frequency, FrequencyRequest),
        "/v1/release": Route("POST", "release", release),
        "/v1/energy": Route("GET", "energy", lambda *_: agent.energy),
        "/v1/executors": Route("GET", "executors", lambda *_: agent.executors),
        "/v1/status": Route("GET", "status", lambda *_: agent.status),
        "/healthz": Route("GET", "healthz", None, open_to_all=True),
        "/metrics": Route("GET", "metrics", None, open_to_all=True),
    }


def _command(
    action: str, method: Callable[[Caller, AnyRequest], Answer], kind: type[AnyRequest]
) -> Route:
    return Route("POST", action, lambda caller, body: partial(method, caller, decode(body, kind)))
