"""Each caller that must be refused, over real TLS: nothing changes, and the audit log tells."""

import json
import socket
import ssl
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from energy.emulation.description import HostDescription
from runtime.agent.core.agent import Agent, Identity
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import OriginalsJournal
from runtime.agent.core.state import StateLock
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.client import AgentClient, AgentUnreachable
from runtime.agent.wire.messages import FrequencyRequest, FrequencySet
from runtime.agent.wire.refusals import Refused
from runtime.agent.wire.tls import TlsFiles
from runtime.clock import SystemClock
from tests.runtime.agent.pki import Authority
from tests.runtime.agent.running_agent import PATIENCE_S, Service, wait_for
from tests.support.faulty_host import FaultyHost

CAP_KHZ = 1_500_000
OTHER_KHZ = 1_300_000
PERIOD_MS = 60_000


@dataclass
class Setting:
    """An agent on an emulated host, and a controller that holds its lease."""

    authority: Authority
    host: FaultyHost
    service: Service
    audit: Path
    controller: AgentClient

    def audited(self, event: str, code: str) -> dict[str, object]:
        """The line of a refusal, once it is there."""
        return wait_for(
            lambda: next(
                (
                    line
                    for line in map(json.loads, self.audit.read_text().splitlines())
                    if line["event"] == event and line.get("code") == code
                ),
                None,
            ),
            f"{code} in the audit log",
        )

    def command(self, tls: TlsFiles | None) -> None:
        """What a caller tries: to get hold of the host and change it."""
        with self.service.client(tls) as client:
            client.lease(PERIOD_MS, take_over=True)
            client.set_frequency(OTHER_KHZ)

    def set_frequency(self, epoch: int, sequence: int) -> None:
        """A command of the controller with numbers of its own."""
        request = FrequencyRequest(epoch, sequence, OTHER_KHZ)
        self.controller._command("/v1/frequency", request, FrequencySet)


@pytest.fixture
def setting(tmp_path: Path) -> Iterator[Setting]:
    host = FaultyHost(HostDescription(cpus=2, max_khz=2_000_000))
    clock = SystemClock()
    audit = AuditLog(tmp_path / "log" / "audit.jsonl", 1_000_000, clock)
    authority = Authority(tmp_path / "authority")
    with StateLock(tmp_path / "state") as lock:
        agent = Agent(
            Identity("0", "host", "boot", True),
            host,
            FrequencyRules(min_dwell_ms=0),
            None,
            "none",
            OriginalsJournal(lock, "boot"),
            audit,
            clock,
            lambda: (),
        )
        agent.start()
        with (
            Service(agent, audit, authority.agent()) as service,
            service.client(authority.controller("controller")) as controller,
        ):
            controller.lease(PERIOD_MS)
            controller.set_frequency(CAP_KHZ)
            yield Setting(authority, host, service, audit.path, controller)


def refused_by_tls(setting: Setting, call: Callable[[], None]) -> str:
    """Run it, see it fail in the handshake; the reason in the audit log."""
    before = setting.host.snapshot()
    with pytest.raises(AgentUnreachable):
        call()
    line = setting.audited("refused", "not_allowed")
    assert line["action"] == "connect"
    assert line["caller"] == "127.0.0.1"
    assert setting.host.snapshot() == before
    assert setting.controller.status().holder == "controller"
    return str(line["message"])


def refused_by_code(setting: Setting, code: str, call: Callable[[], None]) -> dict[str, object]:
    """Run it, see it refused; the line of the audit log."""
    before = setting.host.snapshot()
    with pytest.raises(Refused) as caught:
        call()
    assert caught.value.code == code
    line = setting.audited("refused", code)
    assert setting.host.snapshot() == before
    assert setting.controller.status().holder == "controller"
    return line


def test_the_one_that_is_allowed_can_command(setting: Setting) -> None:
    setting.controller.set_frequency(OTHER_KHZ)
    assert f"{OTHER_KHZ}\n" in setting.host.snapshot().values()


def test_no_certificate(setting: Setting) -> None:
    before = setting.host.snapshot()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.load_verify_locations(setting.authority.certificate)
    plain = socket.create_connection(("127.0.0.1", setting.service.port), PATIENCE_S)
    # The client's half of TLS 1.3 is over before the agent misses its certificate.
    with (
        plain,
        pytest.raises((ssl.SSLError, ConnectionError)),
        context.wrap_socket(plain, server_hostname="localhost") as connection,
    ):
        connection.sendall(b"GET /v1/hello HTTP/1.1\r\nHost: localhost\r\n\r\n")
        if not connection.recv(1):
            raise ConnectionResetError("closed without an answer")
    line = setting.audited("refused", "not_allowed")
    assert (line["action"], line["message"]) == (
        "connect",
        "the TLS handshake failed, peer did not return a certificate",
    )
    assert setting.host.snapshot() == before


def test_no_tls(setting: Setting) -> None:
    reason = refused_by_tls(setting, lambda: setting.command(None))
    assert "http request" in reason


def test_wrong_authority(setting: Setting, tmp_path: Path) -> None:
    theirs = Authority(tmp_path / "other").controller("controller")
    # It trusts the agent, so that it is the agent that refuses.
    files = TlsFiles(setting.authority.certificate, theirs.certificate, theirs.key)
    reason = refused_by_tls(setting, lambda: setting.command(files))
    assert "issuer certificate" in reason


def test_expired(setting: Setting) -> None:
    files = setting.authority.expired("late")
    assert "expired" in refused_by_tls(setting, lambda: setting.command(files))


def test_certificate_of_another_agent(setting: Setting) -> None:
    """Whoever takes over one worker host cannot command the others."""
    files = setting.authority.agent("neighbour")
    reason = refused_by_tls(setting, lambda: setting.command(files))
    assert "purpose" in reason


def test_name_that_is_not_on_the_list(setting: Setting) -> None:
    files = setting.authority.controller("stranger")
    line = refused_by_code(setting, "not_allowed", lambda: setting.command(files))
    assert (line["caller"], line["action"]) == ("stranger", "lease")
    with setting.service.client(files) as stranger:
        for question in (stranger.hello, stranger.status, stranger.energy, stranger.executors):
            with pytest.raises(Refused, match="not on the list"):
                question()


def test_wrong_epoch(setting: Setting) -> None:
    epoch = setting.controller.epoch
    assert epoch is not None
    refused_by_code(setting, "stale_epoch", lambda: setting.set_frequency(epoch - 1, 1000))
    refused_by_code(setting, "stale_epoch", lambda: setting.set_frequency(epoch + 1, 1000))


def test_replayed_sequence(setting: Setting) -> None:
    epoch, sequence = setting.controller.epoch, setting.controller.sequence
    assert epoch is not None
    refused_by_code(setting, "replayed", lambda: setting.set_frequency(epoch, sequence))


def test_a_second_controller_while_the_lease_is_held(tmp_path: Path, setting: Setting) -> None:
    def take() -> None:
        with setting.service.local_client() as administrator:
            administrator.lease(PERIOD_MS, take_over=True)

    refused_by_code(setting, "lease_held", take)
