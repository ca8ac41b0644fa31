"""HTTP as bytes, for what a well-behaved client would never send."""

import json
import socket

from tests.runtime.agent.running_agent import Service

LEASE = b'{"period_ms": 1000}'


def request(
    method: str = "POST",
    path: str = "/v1/lease",
    body: bytes = LEASE,
    **headers: str | None,
) -> bytes:
    """A request as bytes; `content_type=None` leaves a header out."""
    given = {"host": "localhost", "content_length": str(len(body))}
    if method == "POST":
        given["content_type"] = "application/json"
    lines = [f"{method} {path} HTTP/1.1"]
    for name, value in (given | headers).items():
        if value is not None:
            lines.append(f"{name.replace('_', '-')}: {value}")
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + body


def get(path: str, **headers: str | None) -> bytes:
    return request("GET", path, b"", content_length=None, **headers)


def code_of(answer: tuple[int, bytes]) -> str:
    body = json.loads(answer[1])
    assert set(body) == {"error"}
    assert {"code", "message", "field", "value", "allowed"} == set(body["error"])
    code: str = body["error"]["code"]
    return code


def ask(service: Service, data: bytes) -> tuple[int, bytes]:
    with service.connect() as connection:
        return exchange(connection, data)


def exchange(connection: socket.socket, request: bytes) -> tuple[int, bytes]:
    """Send bytes, read one answer: its status and its body."""
    connection.sendall(request)
    return read_answer(connection)


def read_answer(connection: socket.socket) -> tuple[int, bytes]:
    """One answer with a Content-Length."""
    data = b""
    while b"\r\n\r\n" not in data:
        more = connection.recv(65_536)
        if not more:
            raise ConnectionError(f"closed after {data!r}")
        data += more
    head, _, body = data.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    headers = dict(line.lower().split(": ", 1) for line in lines[1:])
    length = int(headers.get("content-length", "0"))
    while len(body) < length:
        more = connection.recv(65_536)
        if not more:
            raise ConnectionError("closed within the body")
        body += more
    return int(lines[0].split()[1]), body


def is_closed(connection: socket.socket) -> bool:
    """Read to the end: whether the other side closes."""
    try:
        while connection.recv(65_536):
            pass
    except ConnectionError:
        pass
    return True
