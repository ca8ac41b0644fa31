"""The client: what it asks again, what it never sends twice, and how it tells failures."""

import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from runtime.agent.wire.client import AgentClient, AgentUnreachable
from runtime.agent.wire.messages import FrequencyRequest, ReleaseRequest, RenewRequest
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.pki import Authority
from tests.runtime.agent.running_agent import PATIENCE_S, Service


def test_a_lease_from_beginning_to_end() -> None:
    with Service() as service, service.client() as client:
        assert client.epoch is None
        assert client.lease(1000).epoch == client.epoch == 7
        client.renew()
        client.set_frequency(1_500_000, policies=["policy0"])
        client.release()
        assert client.epoch is None
        assert [sent for _, _, sent in service.core.commands[1:]] == [
            RenewRequest(7, 1),
            FrequencyRequest(7, 2, 1_500_000, None, ("policy0",)),
            ReleaseRequest(7, 3),
        ]


def test_answers_are_typed() -> None:
    with Service() as service, service.local_client() as client:
        assert client.hello().host == "host"
        assert client.energy().zones[0].energy_uj == 2_500_000
        assert client.executors().executors == ()
        assert client.status().policies[1].drifted


def test_commands_need_a_lease() -> None:
    with Service() as service, service.client() as client:
        with pytest.raises(Refused, match="holds no lease"):
            client.set_frequency(1_500_000)
        assert service.core.commands == []


def test_a_refusal_comes_back_as_it_was_sent() -> None:
    with Service() as service, service.client() as client:
        with pytest.raises(Refused) as caught:
            client.lease(1)
        refusal = caught.value.refusal
        assert (refusal.code, refusal.field, refusal.value) == ("bad_field", "period_ms", "1")
        assert refusal.allowed == "an integer from 200 to 60000"
        assert client.lease(1000).epoch == 7, "the connection is still good"


def test_a_connection_that_was_closed_meanwhile_is_made_anew() -> None:
    with Service() as service, service.client() as client:
        client.hello()
        service.hang_up()
        assert client.hello().host == "host"
        service.hang_up()
        client.lease(1000)
        assert len(service.core.commands) == 1


@contextmanager
def listener(answer: Callable[[socket.socket], None]) -> Iterator[tuple[int, list[bytes]]]:
    """Somebody who takes requests and answers in his own way; his port and what he got."""
    got: list[bytes] = []
    with socket.create_server(("127.0.0.1", 0)) as listening:
        listening.settimeout(PATIENCE_S)

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                except OSError:
                    return
                with connection:
                    got.append(connection.recv(65_536))
                    answer(connection)

        thread = threading.Thread(target=serve)
        thread.start()
        try:
            yield listening.getsockname()[1], got
        finally:
            listening.shutdown(socket.SHUT_RDWR)
            thread.join(PATIENCE_S)


def test_a_command_is_never_sent_twice() -> None:
    with listener(lambda connection: None) as (port, got):
        client = AgentClient.remote("127.0.0.1", port, None, PATIENCE_S)
        with pytest.raises(AgentUnreachable, match=f"127.0.0.1:{port}"):
            client.lease(1000)
        assert len(got) == 1


@pytest.mark.parametrize(
    "answer",
    [
        b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n[]",
        b'HTTP/1.1 200 OK\r\nContent-Length: 12\r\n\r\n{"epoch": 1}',
        b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 6\r\n\r\n<html>",
        b'HTTP/1.1 403 No\r\nContent-Length: 22\r\n\r\n{"error":{"code":"odd"}',
        b"SSH-2.0-OpenSSH_9.2\r\n",
        b"",
    ],
)
def test_whatever_is_no_agent_is_unreachable(answer: bytes) -> None:
    with listener(lambda connection: connection.sendall(answer)) as (port, _):
        client = AgentClient.remote("127.0.0.1", port, None, PATIENCE_S)
        with pytest.raises(AgentUnreachable):
            client.hello()


def test_nobody_there(tmp_path: Path) -> None:
    with pytest.raises(AgentUnreachable, match="No such file"):
        AgentClient.local(tmp_path / "none").hello()


def test_an_agent_under_another_name_is_not_trusted(tmp_path: Path) -> None:
    authority = Authority(tmp_path / "authority")
    theirs = Authority(tmp_path / "theirs")
    with Service(tls=theirs.agent()) as service:
        client = service.client(authority.controller("controller"))
        with pytest.raises(AgentUnreachable, match="not trusted"):
            client.hello()
