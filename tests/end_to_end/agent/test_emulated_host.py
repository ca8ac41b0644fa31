"""An agent with an emulated host: its frequencies slow down real processes, and let go of them.

The processes carry the command line of a Spark executor, which is all the agent knows them by.
"""

import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from energy.emulation.dvfs.choose import choose_throttle
from energy.emulation.dvfs.contract import Backend
from energy.errors import ThrottleUnavailable
from runtime.agent.wire.messages import ExecutorReport
from tests.runtime.agent.process import AgentProcess
from tests.runtime.agent.running_agent import wait_for

MAX_KHZ, SLOW_KHZ = 2_000_000, 1_200_000
BUSY = "while True: pass"


@pytest.fixture
def hostname() -> str:
    """Nobody else's executors are on it."""
    return f"host-{os.getpid()}-{time.monotonic_ns()}"


@pytest.fixture
def executor(hostname: str) -> Iterator["psutil.Popen"]:
    arguments = [
        "org.apache.spark.executor.CoarseGrainedExecutorBackend",
        *("--app-id", "app-20261116-0001", "--executor-id", "7"),
        *("--hostname", hostname, "--cores", "1"),
    ]
    process = psutil.Popen([sys.executable, "-c", BUSY, *arguments])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


@pytest.fixture
def share() -> float:
    """What an emulated CPU has of a real core."""
    return 1.0


@pytest.fixture(params=["cgroup-v1", "duty-cycle"])
def agent(
    request: pytest.FixtureRequest, hostname: str, share: float, tmp_path: Path
) -> Iterator[AgentProcess]:
    backend: Backend = request.param
    try:
        throttle = choose_throttle(backend)
    except ThrottleUnavailable as error:
        pytest.skip(str(error))
    assert throttle is not None
    throttle.close()
    settings = (
        "emulation.enabled=true",
        "emulation.cpus=1",
        f"emulation.min_khz={SLOW_KHZ}",
        f"emulation.max_khz={MAX_KHZ}",
        f"emulation.share={share}",
        f"emulation.throttle={backend}",
        f'executors.hostname="{hostname}"',
        "energy.meter=auto",
        "frequency.min_dwell_ms=0",
    )
    with AgentProcess(tmp_path, Path("/"), settings) as running:
        yield running


def found(agent: AgentProcess) -> ExecutorReport | None:
    with agent.local_client() as client:
        return next(iter(client.executors().executors), None)


def control_group(process: psutil.Popen) -> str:
    return Path(f"/proc/{process.pid}/cgroup").read_text()


def test_it_slows_meters_and_releases_a_real_process(
    agent: AgentProcess, executor: psutil.Popen
) -> None:
    home = control_group(executor)
    seen = wait_for(lambda: found(agent), "the executor")
    assert (seen.application, seen.executor_id, seen.cores) == ("app-20261116-0001", "7", 1)
    assert seen.pid == executor.pid
    with agent.local_client() as client:
        assert client.hello().emulated
        client.lease(period_ms=60_000)
        (outcome,) = client.set_frequency(SLOW_KHZ).outcomes
        assert outcome.effective_khz == SLOW_KHZ
        first = client.energy()
        assert (first.source, first.total_uj is None) == ("emulated", False)

        def advanced() -> bool:
            now = client.energy()
            report = found(agent)
            assert now.total_uj is not None
            assert first.total_uj is not None
            assert report is not None
            return now.total_uj > first.total_uj and report.cpu_ms > seen.cpu_ms

        wait_for(advanced, "energy and CPU time of the slow executor")

    # The agent dies in the middle of it: the process goes on, at its own speed, where it was.
    agent.kill()
    wait_for(lambda: control_group(executor) == home, "the executor is back in its group")
    used_s = sum(executor.cpu_times()[:2])
    wait_for(lambda: sum(executor.cpu_times()[:2]) > used_s + 0.5, "the executor runs on")
    wait_for(lambda: executor.status() != psutil.STATUS_STOPPED, "the executor is not stopped")


@pytest.mark.parametrize("agent", ["cgroup-v1"], indirect=True)
def test_a_cap_is_a_quota(agent: AgentProcess, executor: psutil.Popen) -> None:
    wait_for(lambda: found(agent), "the executor")
    with agent.local_client() as client:
        client.lease(period_ms=60_000)
        client.set_frequency(SLOW_KHZ)
        wait_for(lambda: quota_share(executor) == pytest.approx(0.6), "a quota of 60 %")
        client.set_frequency(MAX_KHZ)
        wait_for(lambda: quota_share(executor) == pytest.approx(1.0), "the whole core")
        client.release()
    assert agent.terminate() == 0
    assert executor.is_running()


@pytest.mark.parametrize("share", [0.25])
@pytest.mark.parametrize("agent", ["cgroup-v1"], indirect=True)
def test_a_small_core_is_a_small_quota(agent: AgentProcess, executor: psutil.Popen) -> None:
    wait_for(lambda: quota_share(executor) == pytest.approx(0.25), "a quarter of the core")
    with agent.local_client() as client:
        client.lease(period_ms=60_000)
        client.set_frequency(SLOW_KHZ)
        wait_for(
            lambda: quota_share(executor) == pytest.approx(0.15, rel=1e-3), "60 % of a quarter"
        )


def quota_share(process: psutil.Popen) -> float | None:
    """The share of one core its group may use, 1 without a quota; None while it moves."""
    for line in control_group(process).splitlines():
        _, controllers, path = line.split(":", 2)
        if "cpu" in controllers.split(","):
            folder = Path("/sys/fs/cgroup/cpu" + path)
            try:
                quota_us = int((folder / "cpu.cfs_quota_us").read_text())
                period_us = int((folder / "cpu.cfs_period_us").read_text())
            except FileNotFoundError:
                return None
            return 1.0 if quota_us < 0 else min(quota_us / period_us, 1.0)
    raise AssertionError("no cpu controller")
