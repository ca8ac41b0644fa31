"""The HTTP API on real sockets: what it answers, and that every refusal has a code."""

import json
import socket
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent.wire.decode import LARGEST_BODY
from runtime.agent.wire.messages import LeaseRequest
from runtime.agent.wire.tls import client_context
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
from tests.runtime.agent.running_agent import Service


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
