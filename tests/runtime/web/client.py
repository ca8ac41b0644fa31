"""A plain HTTP client over real sockets, which sends exactly the headers it is told."""

import http.client
import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

LONGEST_S = 30.0


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    headers: Mapping[str, str]
    body: bytes

    def json(self) -> Any:
        return json.loads(self.body)


def ask(
    url: str,
    path: str,
    headers: Mapping[str, str] | None = None,
    *,
    method: str = "GET",
    body: str | None = None,
) -> Answer:
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LONGEST_S)
    try:
        connection.request(method, path, body=body, headers=dict(headers or {}))
        answer = connection.getresponse()
        return Answer(answer.status, dict(answer.headers.items()), answer.read())
    finally:
        connection.close()


@contextmanager
def events(url: str) -> Iterator[Iterator[tuple[str, Any]]]:
    """Name and data of the server's events, as they come."""
    place = urlsplit(url)
    connection = http.client.HTTPConnection(place.hostname or "", place.port, timeout=LONGEST_S)
    connection.request("GET", "/api/events")
    answer = connection.getresponse()
    assert answer.status == 200
    try:
        yield _events(answer)
    finally:
        answer.close()
        connection.close()


def _events(answer: http.client.HTTPResponse) -> Iterator[tuple[str, Any]]:
    name = ""
    while line := answer.readline():
        key, _, value = line.decode().rstrip("\n").partition(": ")
        if key == "event":
            name = value
        elif key == "data":
            yield name, json.loads(value)


def wait_for_step(url: str, step: int) -> None:
    """Until the server has taken that step."""
    deadline_s = time.monotonic() + LONGEST_S
    while time.monotonic() < deadline_s:
        latest = ask(url, "/api/state").json()["latest"]
        if latest is not None and latest["step"] >= step:
            return
        time.sleep(0.02)
    raise AssertionError(f"step {step} did not come")
