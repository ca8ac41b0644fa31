"""What the agent costs a host that it watches, and how fast it answers.

A real agent process on a folder with the files of an emulated host, and a controller that commands
it over mutual TLS once a second as the control loop does: renew, set the frequency, read energy and
executors. Processor time and memory are those of the agent's process as the kernel counts them.
"""

import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from energy.emulation.description import HostDescription
from energy.emulation.folder import write_files
from energy.emulation.host import EmulatedHost
from runtime.agent.service.certs import issue, make_authority
from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.tls import TlsFiles

MOST_CORE_PERCENT = 1.0
MOST_MEMORY_MB = 80.0
HIGH_KHZ, LOW_KHZ = 1_900_000, 1_500_000
PERIOD_S = 1.0
ROUND_TRIPS = 300
_SETTLING_S = 3.0
"""The imports of the first requests are no running cost."""
_PATIENCE_S = 60.0
_IN_MEMORY = Path("/dev/shm")
"""Like sysfs, where a write does not reach a disk; only the journal and the audit log do."""
_FORESIGHT = Path(sys.executable).parent / "foresight"


@dataclass(frozen=True, slots=True)
class AgentRow:
    phase: str
    policies: int
    seconds: float
    core_percent: float | None
    """Of one core; None where the agent was driven as fast as it goes."""
    memory_mb: float
    commands: int
    p50_ms: float
    """One set-frequency round trip over mutual TLS."""
    p99_ms: float
    in_target: bool | None
    """Under 1 % of one core and 80 MB."""


def agent_rows(policies: int, seconds: float, begin: Callable[[str], None]) -> list[AgentRow]:
    """The agent at rest, under a steady and under a changing controller, and flat out."""
    with _agent(policies) as (process, client):
        client.lease(period_ms=60_000)
        client.set_frequency(HIGH_KHZ)
        _drive(client, _SETTLING_S, lambda _: HIGH_KHZ)
        rows = []
        for phase, frequency_khz in (
            ("frequency stays", lambda _: HIGH_KHZ),
            ("all limits change every second", lambda step: (LOW_KHZ, HIGH_KHZ)[step % 2]),
        ):
            begin(f"{phase}, {seconds:g} s")
            before_s = _cpu_s(process)
            started_s = time.monotonic()
            trips_ms = _drive(client, seconds, frequency_khz)
            elapsed_s = time.monotonic() - started_s
            percent = 100 * (_cpu_s(process) - before_s) / elapsed_s
            memory_mb = process.memory_info().rss / 1e6
            good = percent < MOST_CORE_PERCENT and memory_mb < MOST_MEMORY_MB
            rows.append(_row(phase, policies, elapsed_s, percent, memory_mb, trips_ms, good))
        begin(f"{ROUND_TRIPS} round trips")
        started_s = time.monotonic()
        trips_ms = [
            _round_trip_ms(client, (LOW_KHZ, HIGH_KHZ)[step % 2]) for step in range(ROUND_TRIPS)
        ]
        elapsed_s = time.monotonic() - started_s
        memory_mb = process.memory_info().rss / 1e6
        rows.append(
            _row("as fast as it goes", policies, elapsed_s, None, memory_mb, trips_ms, None)
        )
        client.release()
        return rows


def _row(
    phase: str,
    policies: int,
    elapsed_s: float,
    percent: float | None,
    memory_mb: float,
    trips_ms: list[float],
    in_target: bool | None,
) -> AgentRow:
    p50_ms = statistics.median(trips_ms)
    p99_ms = statistics.quantiles(trips_ms, n=100)[98] if len(trips_ms) > 1 else trips_ms[0]
    return AgentRow(
        phase, policies, elapsed_s, percent, memory_mb, len(trips_ms), p50_ms, p99_ms, in_target
    )


def _drive(client: AgentClient, seconds: float, frequency_khz: Callable[[int], int]) -> list[float]:
    """What a controller does once a period; how long each set took."""
    trips_ms = []
    begin_s = time.monotonic()
    for step in range(max(2, round(seconds / PERIOD_S))):
        time.sleep(max(0.0, begin_s + step * PERIOD_S - time.monotonic()))
        client.renew()
        trips_ms.append(_round_trip_ms(client, frequency_khz(step)))
        client.energy()
        client.executors()
    time.sleep(max(0.0, begin_s + seconds - time.monotonic()))
    return trips_ms


def _round_trip_ms(client: AgentClient, khz: int) -> float:
    begin_s = time.perf_counter()
    client.set_frequency(khz)
    return (time.perf_counter() - begin_s) * 1000


def _cpu_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextmanager
def _agent(policies: int) -> Iterator[tuple[psutil.Process, AgentClient]]:
    memory = _IN_MEMORY if _IN_MEMORY.is_dir() else None
    with (
        tempfile.TemporaryDirectory(prefix="agent-bench-") as name,
        tempfile.TemporaryDirectory(prefix="agent-bench-", dir=memory) as root,
    ):
        folder = Path(name)
        write_files(EmulatedHost(HostDescription(cpus=policies)), Path(root))
        make_authority(folder / "pki", "bench-authority")
        server = issue(folder / "pki", "agent", ("127.0.0.1",), "agent", days=1)
        own = issue(folder / "pki", "controller", (), "controller", days=1)
        authority = folder / "pki" / "ca.pem"
        settings = {
            "listen.address": "127.0.0.1",
            "listen.port": 0,
            "listen.socket": str(folder / "agent.sock"),
            "tls.authority": str(authority),
            "tls.certificate": str(server.certificate),
            "tls.key": str(server.key),
            "files.state": str(folder / "state"),
            "files.audit": str(folder / "audit.jsonl"),
            "frequency.min_dwell_ms": 0,
            "guard.requests_per_s": 10_000.0,
        }
        arguments = [str(_FORESIGHT), "agent", "run", "--root", root]
        for key, value in settings.items():
            arguments += ["--set", f"{key}={json.dumps(value)}"]
        log = folder / "log.jsonl"
        with log.open("wb") as stream:
            agent = subprocess.Popen(arguments, stdout=stream, stderr=stream)
        try:
            port = _port(agent, log)
            files = TlsFiles(authority, own.certificate, own.key)
            with AgentClient.remote("127.0.0.1", port, files, timeout_s=_PATIENCE_S) as client:
                yield psutil.Process(agent.pid), client
        finally:
            agent.terminate()
            agent.wait(_PATIENCE_S)


def _port(agent: "subprocess.Popen[bytes]", log: Path) -> int:
    """The port the agent bound, once it is ready."""
    give_up_s = time.monotonic() + _PATIENCE_S
    port = None
    while time.monotonic() < give_up_s and agent.poll() is None:
        for line in log.read_text().splitlines():
            event = json.loads(line) if line.endswith("}") else {}
            if event.get("listener") == "tcp":
                port = int(event["port"])
            if event.get("event") == "ready" and port is not None:
                return port
        time.sleep(0.05)
    raise OSError(f"the agent did not start: {log.read_text().strip() or 'no word from it'}")
