import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.dvfs.cpu_time import FamilyTime
from energy.emulation.dvfs.processes import (
    Process,
    Times,
    cpu_seconds,
    family,
    find_process,
    take_snapshot,
)
from tests.energy.emulation.dvfs.conftest import Children, wait_until

HEAD, CHILD, GRANDCHILD, STRANGER = (Process(pid, 100 + pid) for pid in (10, 11, 12, 20))


def test_this_process_is_found_with_its_parent_and_its_time() -> None:
    this = find_process(os.getpid())
    assert this is not None
    before_s = cpu_seconds(this.pid)
    snapshot = take_snapshot()
    assert before_s is not None
    assert snapshot[this].own_s >= before_s > 0
    assert snapshot[this].parent_pid == os.getppid()


def test_a_process_that_never_was_is_none() -> None:
    assert find_process(1 << 22) is None
    assert cpu_seconds(1 << 22) is None


def test_a_command_name_with_parentheses_is_no_trouble(children: Children) -> None:
    named = children.start(
        "-c",
        "import sys; open('/proc/self/comm', 'w').write(') R 1 (');"
        "print('named', flush=True); sys.stdin.read()",
    )
    assert named.stdout is not None
    named.stdout.readline()
    process = find_process(named.pid)
    assert process is not None
    assert take_snapshot()[process].parent_pid == os.getpid()


def test_a_family_is_the_heads_and_all_below_them() -> None:
    snapshot = {
        GRANDCHILD: Times(CHILD.pid, 0, 0),
        HEAD: Times(1, 0, 0),
        STRANGER: Times(1, 0, 0),
        CHILD: Times(HEAD.pid, 0, 0),
    }
    assert set(family([HEAD], snapshot)) == {HEAD, CHILD, GRANDCHILD}
    assert family([Process(HEAD.pid, 1)], snapshot) == ()


def test_only_what_is_used_after_the_start_counts() -> None:
    time = FamilyTime([HEAD], {HEAD: Times(1, 5.0, 7.0), CHILD: Times(HEAD.pid, 3.0, 0.0)})
    now = {HEAD: Times(1, 5.5, 7.0), CHILD: Times(HEAD.pid, 4.0, 0.0), STRANGER: Times(1, 9.0, 9.0)}
    assert time.advance(now) == 1.5
    assert time.advance(now) == 0.0


def test_a_child_born_later_counts_in_full_and_an_orphan_stays() -> None:
    time = FamilyTime([HEAD], {HEAD: Times(1, 0.0, 0.0)})
    assert time.advance({HEAD: Times(1, 1.0, 0.0), CHILD: Times(HEAD.pid, 2.0, 0.5)}) == 3.5
    assert time.advance({CHILD: Times(1, 3.0, 0.5)}) == 1.0
    assert time.members == (CHILD,)


def test_the_last_stretch_of_a_child_comes_from_its_parent() -> None:
    time = FamilyTime([HEAD], {HEAD: Times(1, 0.0, 0.0)})
    time.advance({HEAD: Times(1, 0.0, 0.0), CHILD: Times(HEAD.pid, 2.0, 0.0)})
    # It used 0.75 s more before it ended; another came and went in between with 0.5 s.
    assert time.advance({HEAD: Times(1, 0.0, 3.25)}) == 1.25


def test_a_child_that_nobody_waits_for_is_not_counted_backwards() -> None:
    time = FamilyTime([HEAD], {HEAD: Times(1, 0.0, 0.0), CHILD: Times(HEAD.pid, 2.0, 0.0)})
    assert time.advance({HEAD: Times(1, 1.0, 0.0)}) == 1.0


def test_a_pid_used_again_is_another_process() -> None:
    time = FamilyTime([HEAD], {HEAD: Times(1, 1.0, 0.0)})
    assert time.advance({Process(HEAD.pid, HEAD.start_ticks + 1): Times(1, 50.0, 0.0)}) == 0.0
    assert time.members == ()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans())))
def test_a_family_that_waits_for_its_children_loses_nothing(
    steps: list[tuple[int, int, bool]],
) -> None:
    head_s, waited_s, child_s, child_pid = 0.0, 0.0, None, 100
    time = FamilyTime([HEAD], {HEAD: Times(1, 0.0, 0.0)})
    counted_s = used_s = 0.0
    for head_gain, child_gain, ends in steps:
        if child_s is None:
            child_s, child_pid = 0.0, child_pid + 1
        head_s, child_s = head_s + head_gain, child_s + child_gain
        used_s += head_gain + child_gain
        if ends:
            waited_s, child_s = waited_s + child_s, None
        snapshot = {HEAD: Times(1, head_s, waited_s)}
        if child_s is not None:
            snapshot[Process(child_pid, 1)] = Times(HEAD.pid, child_s, 0.0)
        counted_s += time.advance(snapshot)
    assert counted_s == used_s


def test_the_time_of_real_children_that_ended_is_there() -> None:
    this = find_process(os.getpid())
    assert this is not None
    time = FamilyTime([this], take_snapshot())
    with subprocess.Popen(
        [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"]
    ) as child:
        child.wait()
    # The hundredths in which the kernel counts children are rounded down.
    assert time.advance(take_snapshot()) > 0.25


def test_a_busy_child_gains_time(children: Children) -> None:
    busy = children.busy()
    time = FamilyTime([busy], take_snapshot())
    wait_until(lambda: time.advance(take_snapshot()) > 0)
