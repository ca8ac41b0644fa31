"""Who is at the other end of a connection: asked of TLS or of the kernel, never of the caller."""

import ipaddress
import socket
import ssl
import struct
from asyncio import BaseTransport
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

_CREDENTIALS = struct.Struct("3i")
"""`struct ucred`: pid, uid, gid."""
_LONGEST_HOST = 255


@dataclass(frozen=True, slots=True)
class Caller:
    """A name that was proven, by a certificate or by the kernel, and what it may do."""

    name: str
    kind: Literal["certificate", "local", "loopback"]
    may_command: bool
    administrator: bool


@dataclass(frozen=True, slots=True)
class Peer:
    """A connection's other end, established once when it is made."""

    caller: Caller
    address: str
    """Where from, for the audit log."""
    ends_s: float | None
    """When its certificate expires, in seconds since 1970; None without one."""
    checks_host: bool
    """Whether a browser could be at work, led here by a host name of its own making."""


def identify(transport: BaseTransport, allowed: Collection[str]) -> Peer:
    """The caller of a new connection; one whose name is not allowed may not command."""
    connection = transport.get_extra_info("socket")
    if connection.family == socket.AF_UNIX:
        return _local(connection)
    address = _address(transport.get_extra_info("peername"))
    tls = transport.get_extra_info("ssl_object")
    if tls is None:
        # The configuration allows a TCP socket without TLS on loopback alone.
        return Peer(Caller("loopback", "loopback", True, False), address, None, True)
    return _certified(tls, address, allowed)


def _local(connection: socket.socket) -> Peer:
    """Whoever could open the socket: its mode lets root and one group do so."""
    packed = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
    pid, uid, _ = _CREDENTIALS.unpack(packed)
    return Peer(Caller(f"uid {uid}", "local", True, True), f"pid {pid}", None, False)


def _certified(tls: ssl.SSLObject | ssl.SSLSocket, address: str, allowed: Collection[str]) -> Peer:
    certificate = tls.getpeercert() or {}
    names = list(_names(certificate)) or ["nameless"]
    listed = [name for name in names if name in allowed]
    caller = Caller((listed or names)[0], "certificate", bool(listed), False)
    return Peer(
        caller, address, ssl.cert_time_to_seconds(str(certificate["notAfter"])), checks_host=False
    )


def _names(certificate: Mapping[str, object]) -> Iterator[str]:
    """DNS names first, the common name after them."""
    for kind, name in _pairs(certificate.get("subjectAltName", ())):
        if kind == "DNS":
            yield name
    subject = certificate.get("subject", ())
    for part in subject if isinstance(subject, tuple) else ():
        for key, value in _pairs(part):
            if key == "commonName":
                yield value


def _pairs(entries: object) -> Iterator[tuple[str, str]]:
    if isinstance(entries, tuple):
        for key, value in entries:
            yield str(key), str(value)


def _address(peername: object) -> str:
    if isinstance(peername, tuple) and len(peername) >= 2:
        return f"{peername[0]}:{peername[1]}"
    return "unknown"


def is_loopback_host(header: str | None) -> bool:
    """Whether a Host header names this machine: a page that rebinds its own name does not."""
    if header is None or len(header) > _LONGEST_HOST:
        return False
    host, _, port = header.rpartition(":")
    if not host or not port.isdecimal():
        host = header
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
