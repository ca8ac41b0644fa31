"""Whoever owns a throttle may be killed at any moment: nobody stays stopped or in a group."""

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from energy.emulation.dvfs.cgroup import GroupTree
from energy.emulation.dvfs.choose import choose_throttle
from energy.emulation.dvfs.contract import Backend
from energy.emulation.dvfs.duty_cycle import DutyCycle
from energy.emulation.dvfs.guard import GuardianLink
from energy.emulation.dvfs.guardian import watch
from energy.emulation.dvfs.ledger import (
    Message,
    ThrottleLedger,
    group_message,
    let_run,
    stops_message,
    ungroup_message,
    unstops_message,
)
from energy.errors import ThrottleUnavailable
from energy.processes import Process, cpu_ns, find_process
from tests.energy.emulation.dvfs.conftest import Children, ended, groups_of, state, wait_until

NOBODY = Process(1 << 22, 1)
"""The kernel gives no pid as high as this."""


def own() -> Process:
    process = find_process(os.getpid())
    assert process is not None
    return process


def encoded(*messages: Message) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


@pytest.mark.parametrize("backend", ["cgroup-v1", "duty-cycle"])
def test_after_sigkill_of_the_owner_the_process_runs_where_it_was(
    backend: Backend, children: Children
) -> None:
    try:
        throttle = choose_throttle(backend)
    except ThrottleUnavailable as error:
        pytest.skip(str(error))
    assert throttle is not None
    throttle.close()
    busy = children.busy()
    groups = Path(f"/proc/{busy.pid}/cgroup")
    before = groups.read_text()
    owner = children.start("-m", "tests.energy.emulation.dvfs.owner", backend, str(busy.pid))
    assert owner.stdout is not None
    guardian = find_process(int(owner.stdout.readline()))
    assert guardian is not None
    if backend == "cgroup-v1":
        assert len(groups_of(owner.pid)) == 1
        assert groups.read_text() != before
    else:
        wait_until(lambda: state(busy) == "T")
    owner.kill()
    wait_until(lambda: ended(guardian))
    assert groups_of(owner.pid) == []
    assert groups.read_text() == before
    # Nobody is left who could stop it again.
    wait_until(lambda: state(busy) not in {"T", None})
    used_ns = cpu_ns(busy.pid)
    assert used_ns is not None
    wait_until(lambda: (cpu_ns(busy.pid) or 0) > used_ns)


def test_a_guardian_that_is_killed_is_replaced_and_told_everything(children: Children) -> None:
    busy = children.busy()
    throttle = DutyCycle()
    try:
        throttle.attach("tree", [busy], cores=1)
        first = throttle._guard.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        killed = find_process(first)
        wait_until(lambda: killed is None or ended(killed))
        throttle.update("tree", [busy])
        assert throttle._guard.pid not in {None, first}
    finally:
        throttle.close()
    assert throttle._guard.pid is None
    wait_until(lambda: state(busy) != "T")


def test_what_the_owner_did_not_release_the_guardian_does_at_the_close(children: Children) -> None:
    busy = children.busy()
    guard = GuardianLink()
    guard.send(stops_message([NOBODY]))
    assert guard.pid is not None
    os.kill(guard.pid, signal.SIGKILL)
    # The next message finds a broken pipe at the latest when the guardian is gone.
    killed = find_process(guard.pid)
    wait_until(lambda: killed is None or ended(killed))
    guard.send(stops_message([busy]))
    os.kill(busy.pid, signal.SIGSTOP)
    guard.close()
    wait_until(lambda: state(busy) != "T")


def test_the_guardian_outlives_the_signals_of_a_terminal(children: Children) -> None:
    busy = children.busy()
    guard = GuardianLink()
    try:
        guard.send(stops_message([busy]))
        assert guard.pid is not None
        assert os.getsid(guard.pid) == guard.pid
        guardian = find_process(guard.pid)
        assert guardian is not None
        status = Path(f"/proc/{guard.pid}/status")
        ignored = 1 << (signal.SIGTERM - 1)
        wait_until(lambda: bool(int(_field(status.read_text(), "SigIgn"), 16) & ignored))
        os.kill(guard.pid, signal.SIGTERM)
        os.kill(busy.pid, signal.SIGSTOP)
        assert not ended(guardian)
    finally:
        guard.close()
    wait_until(lambda: state(busy) != "T")


def _field(status: str, name: str) -> str:
    (value,) = (line.split()[1] for line in status.splitlines() if line.startswith(f"{name}:"))
    return value


def test_it_reads_to_the_end_of_the_pipe_and_ignores_a_line_cut_short() -> None:
    reading, writing = os.pipe()
    os.write(writing, encoded(stops_message([NOBODY]), stops_message([own()])))
    os.write(writing, encoded(unstops_message([NOBODY])) + b'{"stops": [[1,')
    os.close(writing)
    try:
        assert watch(own(), reading).stops == {own()}
    finally:
        os.close(reading)


def test_a_forked_child_that_keeps_the_pipe_open_does_not_keep_the_guardian() -> None:
    reading, writing = os.pipe()
    os.write(writing, encoded(stops_message([own()])))
    try:
        # The writing end stays open, but the owner is gone, or its pid is somebody else's.
        assert watch(NOBODY, reading).stops == {own()}
        os.write(writing, encoded(stops_message([own()])))
        assert watch(Process(os.getpid(), 1), reading).stops == {own()}
    finally:
        os.close(reading)
        os.close(writing)


def test_the_end_of_the_owner_ends_the_watch() -> None:
    reading, writing = os.pipe()
    with subprocess.Popen(["sleep", "3600"]) as sleeper:
        owner = find_process(sleeper.pid)
        assert owner is not None
        sleeper.kill()
        try:
            os.write(writing, encoded(group_message("/", "/g", "/", {own(): "/home"})))
            ledger = watch(owner, reading)
        finally:
            os.close(reading)
            os.close(writing)
    assert ledger.groups["/g"].origins == {own(): "/home"}


def test_a_ledger_told_again_is_the_same_ledger() -> None:
    ledger = ThrottleLedger()
    for message in (
        group_message("/", "/g1", "/home", {own(): "/a"}),
        group_message("/", "/g1", "/home", {NOBODY: "/b"}),
        group_message("/", "/g2", "/home", {}),
        ungroup_message("/g2"),
        stops_message([own(), NOBODY]),
        unstops_message([NOBODY]),
    ):
        ledger.note(message)
    copy = ThrottleLedger()
    for message in ledger.messages():
        copy.note(json.loads(json.dumps(message)))
    assert copy.groups == ledger.groups
    assert copy.groups["/g1"].origins == {own(): "/a", NOBODY: "/b"}
    assert copy.stops == ledger.stops == {own()}


def test_only_the_same_process_is_continued(children: Children) -> None:
    busy = children.busy()
    os.kill(busy.pid, signal.SIGSTOP)
    wait_until(lambda: state(busy) == "T")
    let_run([Process(busy.pid, busy.start_ticks + 1), NOBODY])
    assert state(busy) == "T"
    let_run([busy])
    wait_until(lambda: state(busy) != "T")


def test_a_group_that_never_came_to_be_is_no_trouble(tmp_path: Path) -> None:
    ledger = ThrottleLedger()
    ledger.note(group_message(str(tmp_path), "/never", "/", {}))
    ledger.release()
    assert GroupTree(tmp_path).names("/") == ()
