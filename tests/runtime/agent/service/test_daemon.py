"""The real daemon process on a plain folder: what it changes it puts back, whatever happens."""

import json
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.pki import Authority
from tests.runtime.agent.plain_host import TOP_KHZ, limits_khz, make_plain_host
from tests.runtime.agent.process import FORESIGHT, AgentProcess
from tests.runtime.agent.running_agent import PATIENCE_S, wait_for

CAP_KHZ = 1_500_000
CAPPED = [CAP_KHZ, CAP_KHZ]
ORIGINAL = [TOP_KHZ, TOP_KHZ]
PERIOD_MS = 60_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return make_plain_host(tmp_path / "root")


@pytest.fixture
def agent(tmp_path: Path, root: Path) -> Iterator[AgentProcess]:
    with AgentProcess(tmp_path / "agent", root) as process:
        yield process


def cap(agent: AgentProcess) -> None:
    with agent.client() as client:
        client.lease(PERIOD_MS)
        client.set_frequency(CAP_KHZ)
    assert limits_khz(agent.root) == CAPPED


def cap_briefly(client: AgentClient) -> bool:
    """On a slow machine the lease may be over before its first command."""
    client.lease(400, take_over=True)
    try:
        client.set_frequency(CAP_KHZ)
    except Refused as refused:
        assert refused.code in {"no_lease", "stale_epoch"}
        return False
    return True


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_stopped_agent_restores_its_host(agent: AgentProcess, number: signal.Signals) -> None:
    cap(agent)
    with agent.local_client() as idle:
        idle.hello()
        assert agent.terminate(number) == 0
    assert limits_khz(agent.root) == ORIGINAL
    assert not agent.socket.exists()
    (stopped,) = agent.events("stopped")
    assert stopped["restored"] == 2


def test_the_next_start_restores_what_a_killed_agent_left(agent: AgentProcess) -> None:
    cap(agent)
    agent.kill()
    assert limits_khz(agent.root) == CAPPED
    assert agent.socket.exists(), "left behind, and taken over by the next start"
    agent.start()
    assert limits_khz(agent.root) == ORIGINAL
    with agent.local_client() as client:
        assert client.status().holder is None


def test_the_restore_command_restores_what_a_killed_agent_left(agent: AgentProcess) -> None:
    cap(agent)
    busy = agent.command("restore", *agent.options)
    assert (busy.returncode, limits_khz(agent.root)) == (0, CAPPED)
    assert "left to the agent that is running" in busy.stdout
    agent.kill()
    done = agent.command("restore", *agent.options)
    assert (done.returncode, limits_khz(agent.root)) == (0, ORIGINAL), done
    assert done.stdout == "restored: policy0, policy1\n"
    again = agent.command("restore", *agent.options)
    assert (again.returncode, again.stdout) == (0, "nothing to restore\n")


def test_an_expired_lease_restores_the_host(agent: AgentProcess) -> None:
    with agent.client() as client:
        wait_for(lambda: cap_briefly(client), "a command within the time of its lease")
    wait_for(lambda: limits_khz(agent.root) == ORIGINAL, "the dead man's switch")
    assert wait_for(lambda: agent.audited("lease_expired"), "the audit")


def test_a_second_agent_refuses_to_start(agent: AgentProcess) -> None:
    cap(agent)
    second = agent.command("run", *agent.options)
    assert second.returncode == 1
    assert "locked by process" in second.stderr
    assert len(second.stderr.splitlines()) == 1
    assert limits_khz(agent.root) == CAPPED
    with agent.local_client() as client:
        assert client.status().holder == "loopback"


def test_another_agent_does_not_take_over_a_socket_in_use(
    agent: AgentProcess, tmp_path: Path
) -> None:
    other = agent.command("run", *agent.options, "--set", f'files.state="{tmp_path}/elsewhere"')
    assert other.returncode == 2
    assert "another agent listens there" in other.stderr
    with agent.local_client() as client:
        assert client.status().holder is None


def test_something_else_in_place_of_the_socket_is_left_alone(agent: AgentProcess) -> None:
    agent.terminate()
    agent.socket.write_text("precious")
    result = agent.command("run", *agent.options)
    assert result.returncode == 2
    assert "no socket" in result.stderr
    assert agent.socket.read_text() == "precious"


def test_status_and_release_over_the_socket(agent: AgentProcess) -> None:
    assert stat.S_IMODE(agent.socket.stat().st_mode) == 0o660
    cap(agent)
    shown = agent.command("status", "--socket", str(agent.socket))
    assert shown.returncode == 0, shown.stderr
    assert "lease     loopback, epoch " in shown.stdout
    assert f"policy1   limit {CAP_KHZ} kHz, requested {CAP_KHZ} kHz" in shown.stdout
    released = agent.command("release", "--socket", str(agent.socket))
    assert released.stdout == "restored: policy0, policy1\n"
    assert limits_khz(agent.root) == ORIGINAL


def test_status_of_no_agent_is_one_line(tmp_path: Path) -> None:
    result = subprocess.run(
        [*FORESIGHT, "agent", "status", "--socket", str(tmp_path / "none")],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert result.returncode == 1
    assert result.stderr == f"foresight: agent at {tmp_path}/none: No such file or directory\n"


def test_systemd_is_told(tmp_path: Path, root: Path) -> None:
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as notified:
        notified.bind("")  # a free name in the abstract namespace
        notified.settimeout(PATIENCE_S)
        name = "@" + notified.getsockname()[1:].decode()
        environment = {"NOTIFY_SOCKET": name}
        with AgentProcess(tmp_path / "agent", root, environment=environment) as agent:
            assert notified.recv(4096).startswith(b"READY=1\n")
            assert notified.recv(4096) == b"WATCHDOG=1"
            assert notified.recv(4096) == b"WATCHDOG=1"
            agent.terminate()
            told = b""
            while told != b"STOPPING=1":
                told = notified.recv(4096)


def test_certificates_are_renewed_without_a_restart(tmp_path: Path, root: Path) -> None:
    authority = Authority(tmp_path / "authority")
    files, controller = authority.agent(), authority.controller("controller")
    settings = [
        f'tls.{name}="{path}"'
        for name, path in (
            ("authority", files.authority),
            ("certificate", files.certificate),
            ("key", files.key),
        )
    ]
    with AgentProcess(tmp_path / "agent", root, settings) as agent, agent.client(controller) as old:
        old.lease(PERIOD_MS)
        old.set_frequency(CAP_KHZ)
        other = authority.agent("renewed")
        files.certificate.write_bytes(other.certificate.read_bytes())
        wait_for(lambda: agent.events("certificates_refused"), "the half set to be refused")
        with agent.client(controller) as client:
            assert client.status().holder == "controller"
        files.key.write_bytes(other.key.read_bytes())
        wait_for(lambda: agent.events("certificates_renewed"), "the whole set to be taken")
        with agent.client(controller) as client:
            assert client.status().holder == "controller"
        shown = agent.command(
            "status", "--json", "--url", f"https://localhost:{agent.port}",
            "--ca", str(controller.authority),
            "--certificate", str(controller.certificate), "--key", str(controller.key),
        )  # fmt: skip
        assert json.loads(shown.stdout)["holder"] == "controller", shown.stderr
        assert old.renew().epoch == old.epoch, "the lease goes on over the old connection"
        assert limits_khz(root) == CAPPED
        assert agent.audited("certificates_refused")
        assert agent.audited("certificates_renewed")


def test_an_emulated_host_needs_no_sysfs(tmp_path: Path) -> None:
    settings = ["emulation.enabled=true", "emulation.throttle=none", 'energy.meter="auto"']
    with AgentProcess(tmp_path / "agent", tmp_path / "nothing", settings) as agent:
        with agent.client() as client:
            hello = client.hello()
            assert (hello.emulated, hello.energy_source, len(hello.policies)) == (
                True,
                "emulated",
                2,
            )
            client.lease(PERIOD_MS)
            assert client.set_frequency(CAP_KHZ).outcomes[0].effective_khz == CAP_KHZ
            first = client.energy().total_uj
            assert first is not None
            wait_for(lambda: (client.energy().total_uj or 0) > first, "energy to be used")
            client.release()
        assert agent.terminate() == 0


def test_what_must_be_mended_is_told_in_one_line(tmp_path: Path, root: Path) -> None:
    config = tmp_path / "agent.toml"
    config.write_text("")
    config.chmod(0o666)
    with AgentProcess(tmp_path / "agent", root) as agent:
        agent.terminate()
        for arguments, words in (
            (("--config", str(config)), "others must not write it"),
            (("--set", 'listen.address="0.0.0.0"'), "must be a loopback address"),
            (("--set", 'listen.socket_group="no-such-group"'), "no such group"),
            (("--set", 'tls.key="/nowhere"'), "must stand together"),
        ):
            result = agent.command("run", *agent.options, *arguments)
            assert result.returncode == 2
            assert words in result.stderr
            assert len(result.stderr.splitlines()) == 1
        assert limits_khz(root) == ORIGINAL


def test_the_daemon_stays_small() -> None:
    """None of the heavy libraries of the controller comes with it."""
    code = (
        "import sys, runtime.agent.service.daemon;"
        "print(sorted({'numpy', 'scipy', 'pandas', 'rich', 'typer', 'cryptography', "
        "'energy.emulation.host'} & set(sys.modules)))"
    )
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=True
    )
    assert result.stdout == "[]\n"
