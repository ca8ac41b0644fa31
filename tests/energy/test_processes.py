import os
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.processes import (
    NS_PER_TICK,
    Process,
    ProcessStat,
    ProcFolder,
    TreeTime,
)
from tests.runtime.agent.proc_folder import FakeProc


def stat(pid: int, own_ns: int, reaped_ns: int = 0, start_ticks: int = 1) -> ProcessStat:
    return ProcessStat(Process(pid, start_ticks), 1, False, own_ns, reaped_ns)


def test_reads_this_process() -> None:
    processes = ProcFolder()
    assert os.getpid() in processes.pids()
    me = processes.stat(os.getpid())
    assert me is not None
    assert me.parent_pid == os.getppid()
    assert not me.is_zombie
    assert me.own_ns > 0
    assert processes.command_line(os.getpid()).endswith(b"\0")


def test_a_process_that_is_gone_is_none(tmp_path: Path) -> None:
    processes = ProcFolder(tmp_path)
    assert processes.stat(7) is None
    assert processes.command_line(7) == b""


def test_brackets_and_blanks_in_a_name_do_not_shift_the_fields(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.start(7, ["x"], parent_pid=3)
    proc.work(7, 11, 5)
    found = ProcFolder(tmp_path).stat(7)
    assert found is not None
    assert (found.parent_pid, found.own_ns, found.reaped_ns) == (
        3,
        11 * NS_PER_TICK,
        5 * NS_PER_TICK,
    )


def test_an_endless_command_line_is_cut_off(tmp_path: Path) -> None:
    proc = FakeProc(tmp_path)
    proc.start(7, ["x" * 1_000_000])
    assert len(ProcFolder(tmp_path).command_line(7)) < 300_000


def test_a_child_that_was_reaped_is_counted_once() -> None:
    tree = TreeTime()
    tree.add([stat(1, 10), stat(2, 100)])
    tree.add([stat(1, 12, reaped_ns=103)])
    assert tree.used_ns == 12 + 103


def test_a_child_that_was_never_seen_is_counted() -> None:
    tree = TreeTime()
    tree.add([stat(1, 10)])
    tree.add([stat(1, 10, reaped_ns=40)])
    assert tree.used_ns == 50


def test_a_child_reaped_between_two_reads_of_one_look_is_counted_once() -> None:
    tree = TreeTime()
    tree.add([stat(1, 10), stat(2, 100)])
    # The parent was read just before it reaped, the child looked for just after.
    tree.add([stat(1, 10)])
    assert tree.used_ns == 110
    tree.add([stat(1, 10, reaped_ns=101)])
    assert tree.used_ns == 111


def test_a_child_reaped_outside_the_tree_stays_counted_and_stalls_nothing() -> None:
    tree = TreeTime()
    tree.add([stat(1, 10), stat(2, 10_000)])
    tree.add([stat(1, 11)])
    tree.add([stat(1, 12)])
    tree.add([stat(1, 13, reaped_ns=5)])
    assert tree.used_ns == 10_000 + 13 + 5


def test_a_pid_of_another_process_is_another_process() -> None:
    tree = TreeTime()
    tree.add([stat(1, 10), stat(2, 100, start_ticks=5)])
    tree.add([stat(1, 10, reaped_ns=100), stat(2, 3, start_ticks=9)])
    assert tree.used_ns == 113


class Family:
    """Real accounting: time is the process's own until its parent reaps it."""

    def __init__(self) -> None:
        self.spent = 0
        self.own = {0: 0}
        self.reaped = {0: 0}
        self.parent: dict[int, int] = {}

    def stats(self) -> list[ProcessStat]:
        return [stat(pid, own, self.reaped[pid]) for pid, own in self.own.items()]

    def work(self, pid: int, ticks: int) -> None:
        self.own[pid] += ticks
        self.spent += ticks

    def fork(self, parent: int) -> None:
        pid = max(len(self.parent) + 1, max(self.own) + 1)
        self.own[pid] = self.reaped[pid] = 0
        self.parent[pid] = parent

    def end(self, pid: int) -> None:
        if pid == 0 or pid in [self.parent[child] for child in self.own if child]:
            return
        self.reaped[self.parent[pid]] += self.own.pop(pid) + self.reaped.pop(pid)


steps = st.lists(
    st.tuples(
        st.sampled_from(["work", "fork", "end", "look"]), st.integers(0, 99), st.integers(0, 50)
    ),
    max_size=80,
)


@given(steps)
def test_whatever_a_family_does_every_tick_is_counted_once(
    steps: list[tuple[str, int, int]],
) -> None:
    family, tree = Family(), TreeTime()
    for action, choice, ticks in steps:
        pid = list(family.own)[choice % len(family.own)]
        if action == "work":
            family.work(pid, ticks)
        elif action == "fork":
            family.fork(pid)
        elif action == "end":
            family.end(pid)
        else:
            tree.add(family.stats())
            assert tree.used_ns == family.spent


@given(st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 99), st.integers(0, 99)))))
def test_whatever_is_read_the_time_never_falls(looks: list[list[tuple[int, int, int]]]) -> None:
    tree = TreeTime()
    ticks = 0
    for look in looks:
        tree.add([stat(pid, own, reaped) for pid, own, reaped in look])
        assert tree.used_ns >= ticks
        ticks = tree.used_ns


def test_an_unreadable_process_is_an_error_of_the_caller(tmp_path: Path) -> None:
    (tmp_path / "7" / "stat").mkdir(parents=True)
    with pytest.raises(OSError, match="directory"):
        ProcFolder(tmp_path).stat(7)
