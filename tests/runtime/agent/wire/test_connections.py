"""The bounds on connections: how many, how slow, how idle. Nothing here depends on the speed of the
machine: a test that was too slow for the short times it sets tries again.
"""

import select
import socket
from contextlib import suppress
from pathlib import Path

import pytest

from runtime.agent.service.settings import CallerLimits
from tests.runtime.agent.pki import Authority
from tests.runtime.agent.raw_requests import (
    LEASE,
    ask,
    code_of,
    exchange,
    get,
    is_closed,
    read_answer,
    request,
)
from tests.runtime.agent.running_agent import Service, wait_for

HURRIED = CallerLimits(timeout_s=0.2, idle_timeout_s=600, requests_per_s=10_000, burst=10_000)


def test_callers_have_a_rate() -> None:
    guard = CallerLimits(requests_per_s=0.0001, burst=3, timeout_s=60)
    with Service(guard=guard) as service, service.connect() as connection:
        for _ in range(3):
            assert exchange(connection, get("/v1/hello"))[0] == 200
        answer = exchange(connection, get("/v1/hello"))
        assert (answer[0], code_of(answer)) == (429, "rate_limited")
        with service.local_client() as administrator:
            administrator.hello()
        assert service.audited("rate_limited")[0] == "loopback"


def test_commands_queue_up_to_a_bound() -> None:
    with Service(most_waiting=2) as service:
        service.core.gate.clear()
        waiting = [service.connect() for _ in range(2)]
        for connection in waiting:
            connection.sendall(request())
        wait_for(lambda: service.worker.waiting == 2, "a full queue")
        answer = ask(service, get("/v1/hello"))
        assert code_of(answer) == "unavailable"
        service.core.gate.set()
        for connection in waiting:
            assert read_answer(connection)[0] == 200
            connection.close()


def test_connections_have_a_cap_and_administrators_their_own() -> None:
    guard = CallerLimits(max_connections=2, timeout_s=60, idle_timeout_s=600)
    with Service(guard=guard) as service:
        held = [service.connect(), service.connect()]
        for connection in held:
            assert exchange(connection, get("/v1/hello"))[0] == 200
        with service.connect() as third:
            assert code_of(read_answer(third)) == "too_many_connections"
        with service.local_client() as administrator:
            administrator.hello()
        held.pop().close()
        wait_for(lambda: len(service.tcp) == 1, "the closed connection")
        assert ask(service, get("/v1/hello"))[0] == 200
        held.pop().close()


def test_connections_that_shake_hands_count_and_have_their_time(tmp_path: Path) -> None:
    guard = CallerLimits(max_connections=2, timeout_s=0.5, idle_timeout_s=600)
    with Service(tls=Authority(tmp_path).agent(), guard=guard) as service:
        silent = [service.connect() for _ in range(4)]
        for connection in silent:
            assert is_closed(connection)
            connection.close()
        wait_for(lambda: len(service.tcp) == 0, "the handshakes to be given up")
        assert "handshake" in service.audited("not_allowed")[3]


def test_more_handshakes_than_connections_are_turned_away(tmp_path: Path) -> None:
    guard = CallerLimits(max_connections=2, timeout_s=60, idle_timeout_s=600)
    with Service(tls=Authority(tmp_path).agent(), guard=guard) as service:
        silent = [service.connect() for _ in range(2)]
        with service.connect() as third:
            assert is_closed(third)
        assert service.audited("too_many_connections")[:2] == ("127.0.0.1", "connect")
        for connection in silent:
            connection.close()


@pytest.mark.parametrize(
    "begun",
    [
        b"",
        b"GET /v1/hello HT",
        b"GET /v1/hello HTTP/1.1\r\nHost: local",
        request().removesuffix(LEASE),
        request(body=LEASE + b" ").removesuffix(b" "),
        request(content_length=None, transfer_encoding="chunked", body=b"5\r\nab"),
    ],
)
def test_a_request_must_be_complete_in_time(begun: bytes) -> None:
    with Service(guard=HURRIED) as service:
        with service.connect() as connection, suppress(ConnectionError):
            connection.sendall(begun)
            # Bytes that came after the end reset the connection, and the answer may be lost.
            answer = read_answer(connection)
            assert (answer[0], code_of(answer)) == (408, "timeout")
            assert is_closed(connection)
        assert service.audited("timeout")[0] == "loopback"
        wait_for(lambda: len(service.tcp) == 0, "the end of the connection")
        assert service.core.commands == []


def test_the_next_request_of_a_connection_must_be_complete_in_time_too() -> None:
    with Service(guard=HURRIED) as service:

        def attempt() -> bool:
            with service.connect() as connection, suppress(ConnectionError):
                if exchange(connection, get("/v1/hello"))[0] == 200:
                    connection.sendall(b"GET /v1/he")
                    return code_of(read_answer(connection)) == "timeout" and is_closed(connection)
            return False

        wait_for(attempt, "a first request in time and a second one that is not")


def test_an_idle_connection_is_closed() -> None:
    guard = CallerLimits(timeout_s=60, idle_timeout_s=1)
    with Service(guard=guard) as service, service.connect() as connection:
        with suppress(ConnectionError):
            exchange(connection, get("/v1/hello"))
        assert is_closed(connection)
        wait_for(lambda: len(service.tcp) == 0, "the end of the connection")


def test_a_slow_command_is_not_cut_off() -> None:
    """The deadline is for the caller, not for the host."""
    with Service(guard=HURRIED) as service:
        service.core.gate.clear()

        def begin() -> socket.socket | None:
            connection = service.connect()
            with suppress(ConnectionError):
                connection.sendall(request() + b"GET")  # and the beginning of another
            wait_for(
                lambda: service.core.begun or select.select([connection], [], [], 0)[0],
                "the command, or its refusal",
            )
            if service.core.begun:
                return connection
            connection.close()
            return None

        with wait_for(begin, "a request in time") as connection:
            with service.connect() as other:  # whose time begins later and is over before
                assert is_closed(other)
            service.core.gate.set()
            assert read_answer(connection)[0] == 200


def test_a_caller_that_hangs_up_does_not_stop_its_command() -> None:
    with Service() as service:
        service.core.gate.clear()
        connection = service.connect()
        connection.sendall(request())
        wait_for(lambda: service.core.begun, "the command")
        connection.close()
        wait_for(lambda: len(service.tcp) == 0, "the hang-up")
        service.core.gate.set()
        wait_for(lambda: service.core.commands, "the command to be carried out")
        assert service.failures == []


def test_a_caller_that_takes_no_answer_is_cut_off() -> None:
    with Service(guard=HURRIED) as service:
        service.core.policies = 2000
        with service.connect() as connection:
            connection.setblocking(False)
            with suppress(BlockingIOError, ConnectionError):
                connection.send(get("/v1/status") * 200)
            wait_for(lambda: len(service.tcp) == 0, "the connection to be cut off")
