"""The HTTP API on real sockets: what it answers, and that every refusal has a code."""

import json
import socket
from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent.decode import LARGEST_BODY
from runtime.agent.messages import LeaseRequest
from runtime.agent.settings import Guard
from runtime.agent.tls import client_context
from tests.runtime.agent.pki import Authority
from tests.runtime.agent.service import (
    Service,
    exchange,
    is_closed,
    read_answer,
    wait_for,
)

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


def test_every_path_answers_json() -> None:
    with Service() as service, service.connect() as connection:
        for path in ("hello", "energy", "executors", "status"):
            status, body = exchange(connection, get(f"/v1/{path}"))
            assert status == 200
            assert isinstance(json.loads(body), dict)
        status, body = exchange(connection, get("/healthz"))
        assert (status, json.loads(body)) == (200, {"status": "ok"})
        status, body = exchange(connection, get("/metrics"))
        assert status == 200
        assert b"foresight_agent_lease_held 1.0" in body
        assert json.loads(exchange(connection, request())[1]) == {
            "epoch": 7,
            "holder": "loopback",
            "ttl_ms": 3000,
        }


def test_commands_reach_the_core_with_their_caller() -> None:
    with Service() as service, service.client() as remote, service.local_client() as local:
        remote.lease(1000)
        local.lease(500, take_over=True)
        (_, first, _), (action, second, sent) = service.core.commands
        assert (first.kind, first.may_command, first.administrator) == ("loopback", True, False)
        assert (second.kind, second.may_command, second.administrator) == ("local", True, True)
        assert (action, sent) == ("lease", LeaseRequest(500, True))
        assert service.followed == 2, "the host follows every command at once"


def test_an_administrator_needs_no_epoch_to_release() -> None:
    with Service() as service:
        with service.local_client() as local:
            assert local.release_as_administrator().restored == ("policy0",)
        assert [action for action, _, _ in service.core.commands] == ["release_as_administrator"]
        assert code_of(ask(service, request(path="/v1/release", body=b"{}"))) == "bad_field"


@pytest.mark.parametrize(
    ("data", "status", "code"),
    [
        (get("/"), 404, "not_found"),
        (get("/v1/lease/"), 404, "not_found"),
        (get("//v1/hello"), 404, "not_found"),
        (get("/v1/../v1/hello"), 404, "not_found"),
        (get("/v1/%68ello"), 404, "not_found"),
        (get("http://localhost/v1/hello"), 404, "not_found"),
        (get("/v1/hello?policy=0"), 400, "bad_request"),
        (get("/v1/hello", upgrade="websocket", connection="upgrade"), 200, None),
        (request("GET", "/v1/hello", b"{}"), 400, "bad_request"),
        (request("GET", "/v1/lease", b""), 405, "method_not_allowed"),
        (request("POST", "/v1/hello"), 405, "method_not_allowed"),
        (request("PUT"), 405, "method_not_allowed"),
        (request("DELETE"), 405, "method_not_allowed"),
        (request("OPTIONS"), 405, "method_not_allowed"),
        (request("FORESIGHT"), 400, "bad_request"),
        (request(content_type=None), 415, "unsupported_media_type"),
        (request(content_type="text/plain"), 415, "unsupported_media_type"),
        (request(content_type="application/x-www-form-urlencoded"), 415, "unsupported_media_type"),
        (request(content_type="application/json; charset=utf-8"), 200, None),
        (request(content_encoding="gzip"), 415, "unsupported_media_type"),
        (request(content_encoding="deflate"), 415, "unsupported_media_type"),
        (request(expect="100-continue-please"), 400, "bad_request"),
        (request(body=b""), 400, "bad_request"),
        (request(body=b"[]"), 400, "bad_request"),
        (request(body=b'{"period_ms": true}'), 400, "bad_field"),
        (request(body=LEASE.ljust(LARGEST_BODY)), 200, None),
        (request(body=LEASE.ljust(LARGEST_BODY + 1)), 413, "too_large"),
        (request(host=None), 400, "bad_request"),
        (request(host="agent.example.com"), 403, "not_allowed"),
        (request(host="127.0.0.1.example.com:9797"), 403, "not_allowed"),
        (request(host="localhost:9797"), 200, None),
        (request(host="127.0.0.2:9797"), 200, None),
        (request(host="[::1]:9797"), 200, None),
        (get("/metrics", host="agent.example.com"), 403, "not_allowed"),
        (get("/healthz", host="agent.example.com"), 403, "not_allowed"),
        (b"\r\n\r\nnonsense\r\n\r\n", 400, "bad_request"),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03\r\n\r\n", 400, "bad_request"),
        (b"GET /v1/hello\r\n\r\n", 403, "not_allowed"),
        (b"GET /v1/hello HTTP/9.9\r\nHost: localhost\r\n\r\n", 400, "bad_request"),
        (get("/" + "x" * 5000), 400, "bad_request"),
        (get("/v1/hello", cookie="x" * 9000), 400, "bad_request"),
        (get("/v1/hello", **{f"x{number}": "y" for number in range(100)}), 400, "bad_request"),
        (request(content_length="-1"), 400, "bad_request"),
        (request(content_length="1", transfer_encoding="chunked"), 400, "bad_request"),
        (
            request(content_length=None, transfer_encoding="chunked", body=b"zz\r\n"),
            400,
            "bad_request",
        ),
        (
            request(
                content_length=None,
                transfer_encoding="chunked",
                body=b"13\r\n" + LEASE + b"\r\n0\r\n\r\n",
            ),
            200,
            None,
        ),
    ],
)
def test_every_answer_has_its_code(data: bytes, status: int, code: str | None) -> None:
    with Service() as service:
        answer = ask(service, data)
        assert answer[0] == status, answer
        if code is not None:
            assert code_of(answer) == code
            assert service.core.commands == []
            assert service.audited(code)[0] == "loopback"
        assert service.failures == []


def test_a_body_is_awaited_after_100_continue() -> None:
    with Service() as service, service.connect() as connection:
        head = request(expect="100-continue").removesuffix(LEASE)
        connection.sendall(head)
        assert connection.recv(100).startswith(b"HTTP/1.1 100 ")
        assert exchange(connection, LEASE)[0] == 200


@pytest.mark.parametrize("size", [1, 4096])
def test_a_chunked_body_ends_at_the_limit(size: int) -> None:
    chunk = f"{size:x}\r\n".encode() + b"x" * size + b"\r\n"
    with Service() as service, service.connect() as connection:
        head = request(content_length=None, transfer_encoding="chunked", body=b"")
        connection.sendall(head + chunk * (2 * LARGEST_BODY // size))
        assert code_of(read_answer(connection)) == "too_large"
        assert service.core.commands == []


def test_bad_commands_leave_the_connection_usable() -> None:
    with Service() as service, service.connect() as connection:
        for _ in range(3):
            assert exchange(connection, request(body=b"{}"))[0] == 400
            assert exchange(connection, request())[0] == 200


def test_pipelined_requests_are_answered_in_order() -> None:
    with Service() as service, service.connect() as connection:
        connection.sendall(get("/nowhere") + request() + get("/v1/hello"))
        answers = b""
        while answers.count(b"HTTP/1.1") < 3 or b'"meter_reason"' not in answers:
            answers += connection.recv(65_536)
        statuses = [int(part[:4]) for part in answers.split(b"HTTP/1.1")[1:]]
        assert statuses == [404, 200, 200]


def test_a_sick_agent_says_so() -> None:
    with Service() as service:
        service.unhealthy = "the last tick was 99 s ago"
        answer = ask(service, get("/healthz"))
        assert answer[0] == 503
        assert code_of(answer) == "unavailable"


def test_an_unexpected_error_is_coded_and_told_to_the_log_alone() -> None:
    with Service() as service:
        service.core.broken = True
        answer = ask(service, get("/v1/status"))
        assert answer[0] == 500
        assert code_of(answer) == "internal"
        assert b"secret" not in answer[1]
        assert isinstance(service.failures[0], ZeroDivisionError)


def test_callers_have_a_rate() -> None:
    guard = Guard(requests_per_s=0.001, burst=3)
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
    guard = Guard(max_connections=2, timeout_s=60, idle_timeout_s=600)
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
    guard = Guard(timeout_s=0.2, idle_timeout_s=600)
    with Service(guard=guard) as service, service.connect() as connection:
        connection.sendall(begun)
        answer = read_answer(connection)
        assert (answer[0], code_of(answer)) == (408, "timeout")
        assert is_closed(connection)
        assert service.core.commands == []


def test_the_next_request_of_a_connection_must_be_complete_in_time_too() -> None:
    guard = Guard(timeout_s=0.2, idle_timeout_s=600)
    with Service(guard=guard) as service, service.connect() as connection:
        assert exchange(connection, get("/v1/hello"))[0] == 200
        connection.sendall(b"GET /v1/he")
        assert code_of(read_answer(connection)) == "timeout"
        assert is_closed(connection)


def test_an_idle_connection_is_closed() -> None:
    guard = Guard(timeout_s=60, idle_timeout_s=1)
    with Service(guard=guard) as service, service.connect() as connection:
        assert exchange(connection, get("/v1/hello"))[0] == 200
        assert is_closed(connection)
        wait_for(lambda: len(service.tcp) == 0, "the end of the connection")


def test_a_slow_command_is_not_cut_off() -> None:
    """The deadline is for the caller, not for the host."""
    guard = Guard(timeout_s=0.1, idle_timeout_s=1)
    with Service(guard=guard) as service, service.connect() as connection:
        service.core.gate.clear()
        connection.sendall(request() + b"GET")  # and the beginning of another
        with service.connect() as other:
            assert code_of(read_answer(other)) == "timeout"
            assert is_closed(other)
        service.core.gate.set()
        assert read_answer(connection)[0] == 200


def test_a_caller_that_hangs_up_does_not_stop_its_command() -> None:
    with Service() as service:
        service.core.gate.clear()
        connection = service.connect()
        connection.sendall(request())
        wait_for(lambda: service.worker.waiting, "the command")
        connection.close()
        wait_for(lambda: len(service.tcp) == 0, "the hang-up")
        service.core.gate.set()
        wait_for(lambda: service.core.commands, "the command to be carried out")
        assert service.failures == []


def test_any_bytes_leave_the_server_standing() -> None:
    with Service() as service:

        @given(data=st.binary(min_size=1, max_size=300))
        def check(data: bytes) -> None:
            with service.connect() as connection:
                connection.sendall(data + b"\r\n\r\n")
                connection.shutdown(socket.SHUT_WR)
                assert is_closed(connection)

        check()
        assert service.failures == []
        assert service.core.commands == []


def test_a_certificate_that_may_not_command_may_look_after_the_agent(tmp_path: Path) -> None:
    """A scraper has a certificate of the authority and is on no list."""
    authority = Authority(tmp_path)
    files = authority.controller("scraper")
    with Service(tls=authority.agent()) as service:
        context = client_context(files)
        with (
            service.connect() as plain,
            context.wrap_socket(plain, server_hostname="localhost") as connection,
        ):
            for path, expected in (("/healthz", 200), ("/metrics", 200), ("/v1/status", 403)):
                assert exchange(connection, get(path, host="agent.example.com"))[0] == expected
            assert code_of(exchange(connection, request())) == "not_allowed"
        assert service.audited("not_allowed")[0] == "scraper"
        assert service.core.commands == []


def test_connections_that_shake_hands_count_and_have_their_time(tmp_path: Path) -> None:
    authority = Authority(tmp_path)
    guard = Guard(max_connections=2, timeout_s=0.5, idle_timeout_s=600)
    with Service(tls=authority.agent(), guard=guard) as service:
        silent = [service.connect() for _ in range(4)]
        for connection in silent:
            assert is_closed(connection), "two at once, two after their time"
            connection.close()
        wait_for(lambda: len(service.tcp) == 0, "the handshakes to be given up")
        assert service.audited("too_many_connections")[:2] == ("127.0.0.1", "connect")
        assert "handshake" in service.audited("not_allowed")[3]
        client = service.client(authority.controller("controller"))
        with client:
            assert client.hello().host == "host"


def test_a_caller_that_takes_no_answer_is_cut_off() -> None:
    guard = Guard(timeout_s=0.2, idle_timeout_s=600, requests_per_s=10_000, burst=10_000)
    with Service(guard=guard) as service:
        service.core.policies = 2000
        with service.connect() as connection:
            connection.setblocking(False)
            asked = get("/v1/status") * 200
            with suppress(BlockingIOError, ConnectionError):
                connection.send(asked)
            wait_for(lambda: len(service.tcp) == 0, "the connection to be cut off")
