import os
import subprocess
import sys

from hypothesis import given
from hypothesis import strategies as st

from energy.processes import (
    NS_PER_S,
    Process,
    ProcessStat,
    Snapshot,
    TreeTime,
    cpu_ns,
    descendants,
    find_process,
    take_snapshot,
)
from tests.energy.emulation.dvfs.conftest import Children, wait_until

HEAD, CHILD, GRANDCHILD, STRANGER = (Process(pid, 100 + pid) for pid in (10, 11, 12, 20))


def stat(
    process: Process, own_ns: int, reaped_ns: int = 0, parent_pid: int = 1
) -> dict[Process, ProcessStat]:
    return {process: ProcessStat(process, parent_pid, False, own_ns, reaped_ns)}


def follow(head: Process, snapshot: Snapshot) -> TreeTime:
    return TreeTime(descendants([head], snapshot))


def advance(time: TreeTime, snapshot: Snapshot) -> int:
    return time.add(descendants(time.members, snapshot))


def test_this_process_is_found_with_its_parent_and_its_time() -> None:
    this = find_process(os.getpid())
    assert this is not None
    before_ns = cpu_ns(this.pid)
    snapshot = take_snapshot()
    assert before_ns is not None
    assert snapshot[this].own_ns >= before_ns > 0
    assert snapshot[this].parent_pid == os.getppid()


def test_a_process_that_never_was_is_none() -> None:
    assert find_process(1 << 22) is None
    assert cpu_ns(1 << 22) is None


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
        **stat(GRANDCHILD, 0, parent_pid=CHILD.pid),
        **stat(HEAD, 0),
        **stat(STRANGER, 0),
        **stat(CHILD, 0, parent_pid=HEAD.pid),
    }
    found = {member.process for member in descendants([HEAD], snapshot)}
    assert found == {HEAD, CHILD, GRANDCHILD}
    assert descendants([Process(HEAD.pid, 1)], snapshot) == ()


def test_only_what_is_used_after_the_start_counts() -> None:
    time = follow(HEAD, stat(HEAD, 500, 700) | stat(CHILD, 300, parent_pid=HEAD.pid))
    now = stat(HEAD, 550, 700) | stat(CHILD, 400, parent_pid=HEAD.pid) | stat(STRANGER, 900, 900)
    assert advance(time, now) == 150
    assert advance(time, now) == 0


def test_a_child_born_later_counts_in_full_and_an_orphan_stays() -> None:
    time = follow(HEAD, stat(HEAD, 0))
    assert advance(time, stat(HEAD, 100) | stat(CHILD, 200, 50, parent_pid=HEAD.pid)) == 350
    assert advance(time, stat(CHILD, 300, 50)) == 100
    assert time.members == (CHILD,)


def test_the_last_stretch_of_a_child_comes_from_its_parent() -> None:
    time = follow(HEAD, stat(HEAD, 0))
    advance(time, stat(HEAD, 0) | stat(CHILD, 200, parent_pid=HEAD.pid))
    # It used 75 more before it ended; another came and went in between with 50.
    assert advance(time, stat(HEAD, 0, 325)) == 125


def test_a_child_that_nobody_waits_for_is_not_counted_backwards() -> None:
    time = follow(HEAD, stat(HEAD, 0) | stat(CHILD, 200, parent_pid=HEAD.pid))
    assert advance(time, stat(HEAD, 100)) == 100


def test_a_pid_used_again_is_another_process() -> None:
    time = follow(HEAD, stat(HEAD, 100))
    assert advance(time, stat(Process(HEAD.pid, HEAD.start_ticks + 1), 5000)) == 0
    assert time.members == ()


@given(st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50), st.booleans())))
def test_a_family_that_waits_for_its_children_loses_nothing(
    steps: list[tuple[int, int, bool]],
) -> None:
    head_ns, reaped_ns, child_ns, child_pid = 0, 0, None, 100
    time = follow(HEAD, stat(HEAD, 0))
    counted_ns = used_ns = 0
    for head_gain, child_gain, ends in steps:
        if child_ns is None:
            child_ns, child_pid = 0, child_pid + 1
        head_ns, child_ns = head_ns + head_gain, child_ns + child_gain
        used_ns += head_gain + child_gain
        if ends:
            reaped_ns, child_ns = reaped_ns + child_ns, None
        snapshot = stat(HEAD, head_ns, reaped_ns)
        if child_ns is not None:
            snapshot |= stat(Process(child_pid, 1), child_ns, parent_pid=HEAD.pid)
        counted_ns += advance(time, snapshot)
    assert counted_ns == used_ns


def test_the_time_of_real_children_that_ended_is_there() -> None:
    this = find_process(os.getpid())
    assert this is not None
    time = follow(this, take_snapshot())
    with subprocess.Popen(
        [sys.executable, "-c", "import time\nwhile time.process_time() < 0.3: pass"]
    ) as child:
        child.wait()
    # The hundredths in which the kernel counts children are rounded down.
    assert advance(time, take_snapshot()) > 0.25 * NS_PER_S


def test_a_busy_child_gains_time(children: Children) -> None:
    busy = children.busy()
    time = follow(busy, take_snapshot())
    wait_until(lambda: advance(time, take_snapshot()) > 0)
