"""Talks to one agent: over its UNIX socket, over mutual TLS, or plainly on loopback.

Synchronous, for one thread, on one connection that is kept open. The client keeps the epoch and the
sequence numbers of its lease. A question is asked again once when its connection turns out to be
dead; a command never is, since nobody knows whether it was carried out.
"""

import http.client
import select
import socket
import ssl
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Self, TypeVar

import msgspec

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
    Request,
    Status,
)
from runtime.agent.wire.refusals import ErrorBody, Refused
from runtime.agent.wire.tls import TlsFiles, client_context, handshake_words

_LARGEST_ANSWER = 16 * 1024 * 1024
TIMEOUT_S = 5.0

AnyAnswer = TypeVar("AnyAnswer", bound=Answer)


class AgentUnreachable(Exception):
    """No answer, or none of an agent. Whether a command was carried out is not known."""

    def __init__(self, where: str, reason: str) -> None:
        super().__init__(f"agent at {where}: {reason}")
        self.where = where


class AgentClient:
    """One agent and, after `lease`, the control of its host."""

    def __init__(self, where: str, connect: Callable[[], http.client.HTTPConnection]) -> None:
        self.where = where
        self._connect = connect
        self._connection: http.client.HTTPConnection | None = None
        self._epoch: int | None = None
        self._sequence = 0

    @classmethod
    def local(cls, path: str | Path, timeout_s: float = TIMEOUT_S) -> Self:
        """Over the UNIX socket of the agent's administration."""
        return cls(str(path), lambda: _LocalConnection(str(path), timeout_s))

    @classmethod
    def remote(
        cls, host: str, port: int, tls: TlsFiles | None, timeout_s: float = TIMEOUT_S
    ) -> Self:
        """Over TCP; without TLS only where the agent listens on loopback."""
        where = f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
        if tls is None:
            return cls(where, lambda: http.client.HTTPConnection(host, port, timeout=timeout_s))
        context = client_context(tls)
        return cls(
            where,
            lambda: http.client.HTTPSConnection(host, port, timeout=timeout_s, context=context),
        )

    @property
    def epoch(self) -> int | None:
        """None until a lease was granted."""
        return self._epoch

    @property
    def sequence(self) -> int:
        """The number of the last command."""
        return self._sequence

    def hello(self) -> Hello:
        return self._ask("/v1/hello", Hello)

    def energy(self) -> EnergyReport:
        return self._ask("/v1/energy", EnergyReport)

    def executors(self) -> ExecutorsReport:
        return self._ask("/v1/executors", ExecutorsReport)

    def status(self) -> Status:
        return self._ask("/v1/status", Status)

    def lease(self, period_ms: int, take_over: bool = False) -> LeaseGranted:
        granted = self._command("/v1/lease", LeaseRequest(period_ms, take_over), LeaseGranted)
        self._epoch, self._sequence = granted.epoch, 0
        return granted

    def renew(self) -> Renewed:
        return self._command("/v1/renew", RenewRequest(*self._next()), Renewed)

    def set_frequency(
        self,
        max_khz: int,
        min_khz: int | None = None,
        policies: Sequence[str] | None = None,
    ) -> FrequencySet:
        epoch, sequence = self._next()
        named = None if policies is None else tuple(policies)
        request = FrequencyRequest(epoch, sequence, max_khz, min_khz, named)
        return self._command("/v1/frequency", request, FrequencySet)

    def release(self) -> Released:
        released = self._command("/v1/release", ReleaseRequest(*self._next()), Released)
        self._epoch = None
        return released

    def release_as_administrator(self) -> Released:
        """End whatever lease there is; only over the UNIX socket."""
        return self._command("/v1/release", Request(), Released)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _next(self) -> tuple[int, int]:
        if self._epoch is None:
            raise Refused("no_lease", "this client holds no lease, ask for one first")
        # Used up even if the answer is lost: a number is never sent with two commands.
        self._sequence += 1
        return self._epoch, self._sequence

    def _ask(self, path: str, kind: type[AnyAnswer]) -> AnyAnswer:
        fresh = self._connection is None
        try:
            return self._exchange("GET", path, None, kind)
        except AgentUnreachable:
            if fresh:
                raise
        return self._exchange("GET", path, None, kind)

    def _command(self, path: str, request: Request, kind: type[AnyAnswer]) -> AnyAnswer:
        if self._connection is not None and _is_dead(self._connection):
            self.close()
        return self._exchange("POST", path, msgspec.json.encode(request), kind)

    def _exchange(
        self, method: str, path: str, body: bytes | None, kind: type[AnyAnswer]
    ) -> AnyAnswer:
        headers = {} if body is None else {"Content-Type": "application/json"}
        try:
            if self._connection is None:
                self._connection = self._connect()
            self._connection.request(method, path, body, headers)
            response = self._connection.getresponse()
            content = response.read(_LARGEST_ANSWER)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise AgentUnreachable(self.where, _reason(error)) from error
        try:
            if response.status == http.client.OK:
                return msgspec.json.decode(content, type=kind)
            refusal = msgspec.json.decode(content, type=ErrorBody).error
        except msgspec.DecodeError as error:
            self.close()
            raise AgentUnreachable(
                self.where, f"unexpected answer, status {response.status}"
            ) from error
        raise Refused.from_refusal(refusal)


class _LocalConnection(http.client.HTTPConnection):
    """HTTP over a UNIX socket."""

    def __init__(self, path: str, timeout_s: float) -> None:
        super().__init__("localhost", timeout=timeout_s)
        self._path = path

    def connect(self) -> None:
        connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        connection.settimeout(self.timeout)
        try:
            connection.connect(self._path)
        except BaseException:
            connection.close()
            raise
        self.sock = connection


def _is_dead(connection: http.client.HTTPConnection) -> bool:
    """Whether the agent has closed it: one that waits for a request has nothing else to say."""
    if connection.sock is None:
        return False
    readable, _, _ = select.select([connection.sock], [], [], 0)
    return bool(readable)


def _reason(error: Exception) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted, {error.verify_message}"
    if isinstance(error, ssl.SSLError) and error.reason:
        return f"TLS failed, {handshake_words(error)}"
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return str(error) or type(error).__name__
