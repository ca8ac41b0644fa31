"""What every throttle promises, over every one that works here, with real processes.

All bounds hold on a machine where others run too: a throttle keeps CPU time *below* a share, and
what is over for a moment is taken back, so it is enough to wait until the share is met.
"""

import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from energy.emulation.dvfs.choose import BACKENDS, choose_throttle
from energy.emulation.dvfs.contract import Backend, Throttle
from energy.emulation.dvfs.duty_cycle import DutyCycle
from energy.errors import ThrottleUnavailable
from energy.processes import (
    NS_PER_S,
    Process,
    cpu_ns,
    descendants,
    find_process,
    take_snapshot,
)
from tests.energy.emulation.dvfs.conftest import Children, ended, groups_of, state, wait_until

SHARE = 0.3
MARGIN = 0.15
SHORTEST_S = 1.0
NOBODY = Process(1 << 22, 1)

TWO_CHILDREN = """
import os
head = os.getpid()
for _ in range(2):
    if os.fork() == 0:
        while os.getppid() == head:
            pass
        os._exit(0)
print("ready", flush=True)
os.wait()
"""


@pytest.fixture(params=BACKENDS)
def throttle(request: pytest.FixtureRequest) -> Iterator[Throttle]:
    try:
        made = BACKENDS[request.param]()
    except ThrottleUnavailable as error:
        pytest.skip(str(error))
    yield made
    made.close()


def used_s(processes: list[Process]) -> float:
    return sum(cpu_ns(process.pid) or 0 for process in processes) / NS_PER_S


def wait_for_share(processes: list[Process], most_cores: float) -> None:
    """Wait for a stretch of a second or more in which they used no more than that."""
    start_s, used_before_s = time.monotonic(), used_s(processes)

    def is_met() -> bool:
        elapsed_s = time.monotonic() - start_s
        return (
            elapsed_s >= SHORTEST_S and used_s(processes) - used_before_s <= most_cores * elapsed_s
        )

    wait_until(is_met)


def wait_for_state(process: Process, letters: str) -> None:
    wait_until(lambda: (state(process) or "gone") in letters)


def test_a_busy_process_is_held_to_its_share_and_still_gets_on(
    throttle: Throttle, children: Children
) -> None:
    busy = children.busy()
    throttle.attach("tree", [busy], cores=1)
    throttle.set_share("tree", SHARE)
    wait_for_share([busy], SHARE + MARGIN)
    so_far_s = used_s([busy])
    wait_until(lambda: used_s([busy]) > so_far_s)
    throttle.detach("tree")
    assert groups_of(os.getpid()) == []
    wait_for_state(busy, "R")


def test_a_whole_family_shares_its_cores(throttle: Throttle, children: Children) -> None:
    head = children.start("-c", TWO_CHILDREN)
    assert head.stdout is not None
    head.stdout.readline()
    process = find_process(head.pid)
    assert process is not None
    members = [stat.process for stat in descendants([process], take_snapshot())]
    assert len(members) == 3
    try:
        throttle.attach("tree", [process], cores=1)
        throttle.set_share("tree", SHARE)
        throttle.update("tree", members)
        wait_for_share(members, SHARE + MARGIN)
        throttle.detach("tree")
        for member in members:
            wait_for_state(member, "RS")
    finally:
        for member in members[1:]:
            os.kill(member.pid, signal.SIGKILL)


def test_processes_that_are_gone_are_passed_over(throttle: Throttle, children: Children) -> None:
    busy = children.busy()
    throttle.attach("tree", [NOBODY], cores=1)
    throttle.set_share("tree", 0.5)
    throttle.update("tree", [NOBODY, busy, Process(busy.pid, busy.start_ticks + 1)])
    os.kill(busy.pid, signal.SIGKILL)
    wait_until(lambda: ended(busy))
    throttle.update("tree", [busy])
    throttle.set_share("tree", 1.0)
    throttle.detach("tree")


def test_a_name_is_taken_once_and_free_again(throttle: Throttle, children: Children) -> None:
    busy = children.busy()
    groups = Path(f"/proc/{busy.pid}/cgroup").read_text()
    throttle.attach("tree", [busy], cores=1)
    with pytest.raises(ValueError, match="attached already"):
        throttle.attach("tree", [busy], cores=1)
    for share in (0.0, 1.5, float("nan")):
        with pytest.raises(ValueError, match="share must be"):
            throttle.set_share("tree", share)
    throttle.detach("tree")
    with pytest.raises(KeyError):
        throttle.set_share("tree", 0.5)
    with pytest.raises(ValueError, match="cores must be positive"):
        throttle.attach("tree", [busy], cores=0)
    throttle.attach("tree", [busy], cores=1)
    throttle.close()
    assert Path(f"/proc/{busy.pid}/cgroup").read_text() == groups


def test_closing_lets_all_families_run(throttle: Throttle, children: Children) -> None:
    families = {f"tree {number}": children.busy() for number in range(2)}
    for name, busy in families.items():
        throttle.attach(name, [busy], cores=1)
        throttle.set_share(name, 0.05)
    throttle.close()
    for busy in families.values():
        wait_for_state(busy, "R")


def test_a_duty_cycle_stops_and_continues(children: Children) -> None:
    busy = children.busy()
    throttle = DutyCycle()
    try:
        throttle.attach("tree", [busy], cores=1)
        throttle.set_share("tree", 0.5)
        for letter in ("T", "R", "T", "R"):
            wait_for_state(busy, letter)
    finally:
        throttle.close()


def test_none_throttles_nothing() -> None:
    assert choose_throttle("none") is None


def test_auto_takes_the_first_that_works() -> None:
    throttle = choose_throttle("auto")
    assert throttle is not None
    reasons: list[str] = []
    for backend in BACKENDS:
        if backend == throttle.backend:
            break
        with pytest.raises(ThrottleUnavailable, match=f"^{backend}: ") as unavailable:
            choose_throttle(backend)
        reasons.append(str(unavailable.value))
    throttle.close()
    assert len(reasons) == list(BACKENDS).index(throttle.backend)


@pytest.mark.parametrize("backend", BACKENDS)
def test_a_backend_by_name_is_that_backend_or_a_reason(backend: Backend) -> None:
    try:
        throttle = choose_throttle(backend)
    except ThrottleUnavailable as error:
        assert str(error).startswith(f"{backend}: ")
    else:
        assert throttle is not None
        assert throttle.backend == backend
        throttle.close()
