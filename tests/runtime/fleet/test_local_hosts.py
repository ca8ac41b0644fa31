"""Emulated hosts as real processes: frequencies, crashes of an agent, the death of their owner.

The executors are processes with the command line of one, which is all an agent knows them by.
"""

import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from mpc.events import Event, EventKind
from runtime.fleet.fleet import Fleet
from runtime.fleet.local import LocalHosts
from runtime.fleet.state import ExecutorUse, FleetState
from tests.runtime.agent.running_agent import wait_for

MIN_KHZ, MAX_KHZ, MIDDLE_KHZ = 1_200_000, 2_000_000, 1_600_000
BUSY = "import os\nparent = os.getppid()\nwhile os.getppid() == parent: pass"
LOST_AND_FOUND = [EventKind.AGENT_LOST, EventKind.AGENT_RECOVERED]
OWNER = """
import sys, time
from pathlib import Path
from runtime.fleet.local import LocalHosts
hosts = LocalHosts(sys.argv[2:], folder=Path(sys.argv[1]))
hosts.start()
print(*hosts.pids.values(), flush=True)
time.sleep(600)
"""


@pytest.fixture
def names() -> tuple[str, str]:
    """Nobody else's executors are on them."""
    return f"host-{os.getpid()}-a", f"host-{os.getpid()}-b"


@contextmanager
def executor(hostname: str, executor_id: str = "0") -> Iterator[psutil.Popen]:
    process = psutil.Popen(
        [
            *(sys.executable, "-c", BUSY),
            "org.apache.spark.executor.CoarseGrainedExecutorBackend",
            *("--app-id", "app-1", "--executor-id", executor_id),
            *("--hostname", hostname, "--cores", "1"),
        ]
    )
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_until(fleet: Fleet, holds: Callable[[FleetState], bool], what: str) -> FleetState:
    return wait_for(lambda: state if holds(state := fleet.state()) else None, what)


def at(state: FleetState, khz: int) -> bool:
    """Whether all hosts run at this frequency."""
    return {host.effective_khz for host in state.hosts} == {khz}


def told(fleet: Fleet, host: str, events: list[Event]) -> list[EventKind]:
    """What was told of a host so far."""
    events.extend(fleet.events())
    return [event.kind for event in events if event.detail.startswith(f"{host}: ")]


def executors(state: FleetState, host: str) -> tuple[ExecutorUse, ...]:
    return state.host(host).executors or ()


def test_frequencies_energy_and_executors_of_two_hosts(
    names: tuple[str, str], tmp_path: Path
) -> None:
    busy, idle = names
    with (
        executor(busy),
        LocalHosts(names, min_khz=MIN_KHZ, max_khz=MAX_KHZ, cores_share=0.25, folder=tmp_path)
        as hosts,
        Fleet(hosts.agents, 0.2) as fleet,
    ):  # fmt: skip
        fleet.request(MIDDLE_KHZ, [busy])
        state = wait_until(
            fleet,
            lambda state: (
                state.host(busy).effective_khz == MIDDLE_KHZ
                and state.host(idle).effective_khz == MIN_KHZ
                and state.power_w is not None
                and len(executors(state, busy)) == 1
            ),
            "frequencies, power and the executor",
        )
        assert (state.frequency_khz, state.source) == (MIDDLE_KHZ, "emulated")
        assert {host.source for host in state.hosts} == {"emulated"}
        (seen,) = executors(state, busy)
        assert (seen.application, seen.executor_id, seen.cores) == ("app-1", "0", 1)
        assert not executors(state, idle)
        wait_until(
            fleet, lambda state: state.cpu_s.get(("app-1", "0"), 0.0) > seen.cpu_s, "CPU time"
        )
        agents = [psutil.Process(pid) for pid in hosts.pids.values()]
    assert len(agents) == len(names)
    assert not any(agent.is_running() for agent in agents)
    assert (tmp_path / "host-0" / "audit.jsonl").exists()


def test_one_agent_crashes_and_comes_back_and_the_other_goes_on(names: tuple[str, str]) -> None:
    crashing, other = names
    events: list[Event] = []
    with (
        executor(crashing) as process,
        LocalHosts(names, min_khz=MIN_KHZ, max_khz=MAX_KHZ) as hosts,
        Fleet(hosts.agents, 0.2) as fleet,
    ):
        fleet.request(MIDDLE_KHZ, names)
        state = wait_until(
            fleet,
            lambda state: at(state, MIDDLE_KHZ) and bool(executors(state, crashing)),
            "both hosts",
        )
        used_s = executors(state, crashing)[0].cpu_s
        hosts.kill(crashing)
        state = wait_until(fleet, lambda state: not state.host(crashing).reachable, "the loss")
        assert (state.power_w, state.frequency_khz) == (None, None)
        assert state.host(crashing).requested_khz == MIDDLE_KHZ
        assert process.is_running()
        hosts.start(crashing)
        state = wait_until(
            fleet,
            lambda state: at(state, MIDDLE_KHZ) and bool(executors(state, crashing)),
            "the recovery",
        )
        assert executors(state, crashing)[0].cpu_s >= used_s
        assert state.host(other).effective_khz == MIDDLE_KHZ
        wait_for(lambda: told(fleet, crashing, events)[-2:] == LOST_AND_FOUND, "both events")


def test_agents_end_with_their_owner(names: tuple[str, str], tmp_path: Path) -> None:
    with executor(names[0]) as process, tempfile.TemporaryDirectory(prefix="fo-") as short:
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER, str(tmp_path), *names],
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "TMPDIR": short},
        )
        assert owner.stdout is not None
        try:
            pids = [int(pid) for pid in owner.stdout.readline().split()]
            assert len(pids) == len(names)
            agents = [psutil.Process(pid) for pid in pids]
        finally:
            owner.send_signal(signal.SIGKILL)
            owner.communicate()
        wait_for(lambda: not any(agent.is_running() for agent in agents), "the agents are gone")
        wait_for(lambda: process.status() != psutil.STATUS_STOPPED, "the executor runs")
        assert process.is_running()


def test_a_host_that_cannot_start_says_why(tmp_path: Path) -> None:
    hosts = LocalHosts(["a"], min_khz=3_000_000, max_khz=2_000_000)
    with pytest.raises(ChildProcessError, match=r"the agent of a ended: .*must be below max_khz"):
        hosts.__enter__()


def test_names_are_different() -> None:
    for names in ([], ["a", "a"]):
        with pytest.raises(ValueError, match="names must be different"):
            LocalHosts(names)
