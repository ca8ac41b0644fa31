import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.processes import NS_PER_S, NS_PER_TICK, ProcFolder
from runtime.agent.host.executors import (
    MOST_EXECUTORS,
    MOST_PROCESSES,
    Executor,
    ExecutorArguments,
    ExecutorFinder,
    parse_command_line,
)
from tests.runtime.agent.proc_folder import CLASS, FakeProc, executor_arguments

LONGEST_S = 60.0

TICKS_PER_S = NS_PER_S // NS_PER_TICK


@pytest.fixture
def proc(tmp_path: Path) -> FakeProc:
    return FakeProc(tmp_path)


@pytest.fixture
def finder(proc: FakeProc) -> ExecutorFinder:
    return ExecutorFinder(processes=ProcFolder(proc.root), scan_every_s=0.0)


def command_line(*arguments: str) -> bytes:
    return "".join(f"{argument}\0" for argument in arguments).encode()


@pytest.mark.parametrize(
    "main_class",
    [
        CLASS,
        "org.apache.spark.executor.YarnCoarseGrainedExecutorBackend",
        "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend",
    ],
)
def test_the_command_line_of_an_executor(main_class: str) -> None:
    arguments = executor_arguments("application_17_0001", "12", main_class, podName="x-exec-12")
    assert parse_command_line(command_line(*arguments)) == ExecutorArguments(
        "application_17_0001", "12", "10.0.0.5", 4
    )


def test_cores_and_host_may_be_missing() -> None:
    line = command_line("java", CLASS, "--app-id", "app-1", "--executor-id", "3")
    assert parse_command_line(line) == ExecutorArguments("app-1", "3", None, None)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        [CLASS],
        ["java", CLASS],
        ["bash", "-c", f"java {CLASS} --app-id app-1 --executor-id 0"],
        ["java", "org.apache.spark.deploy.worker.Worker", "--app-id", "a", "--executor-id", "0"],
        ["java", f"x{CLASS}", "--app-id", "a", "--executor-id", "0"],
        ["java", "--app-id", "a", "--executor-id", "0", CLASS],
        ["java", CLASS, "--app-id", "--executor-id", "0"],
        ["java", CLASS, "--app-id", "app-1"],
        executor_arguments(application=""),
        executor_arguments(application="a" * 129),
        executor_arguments(application="../../etc/passwd"),
        executor_arguments(application="app\n1"),
        executor_arguments(application='"},{"'),
        executor_arguments(executor_id="0 "),
        executor_arguments(executor_id="é"),
        executor_arguments(cores="0"),
        executor_arguments(cores="-1"),
        executor_arguments(cores="4.0"),
        executor_arguments(cores="10000"),
        executor_arguments(hostname="h" * 300),
        executor_arguments(hostname="a b"),
    ],
)
def test_anything_else_is_no_executor(arguments: list[str]) -> None:
    assert parse_command_line(command_line(*arguments)) is None


def test_an_argument_that_was_cut_off_is_not_used() -> None:
    line = command_line("java", CLASS, "--executor-id", "0", "--app-id", "app-20260101-0001")
    assert parse_command_line(line[:-1]) is None


@given(
    st.lists(st.sampled_from([b"\0", CLASS.encode(), b"--app-id", b"--executor-id", b"a", b"\xff"]))
)
def test_no_command_line_breaks_the_parser(parts: list[bytes]) -> None:
    claim = parse_command_line(b"".join(parts))
    assert claim is None or (claim.application and claim.executor_id)


def test_finds_an_executor_with_its_workers(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(1, ["/sbin/init"])
    proc.start(50, ["java", "org.apache.spark.deploy.worker.Worker"])
    proc.start(60, executor_arguments(), parent_pid=50)
    proc.start(61, ["python", "-m", "pyspark.daemon"], parent_pid=60)
    proc.start(62, ["python", "-m", "pyspark.daemon"], parent_pid=61)
    proc.start(70, ["bash"], parent_pid=1)
    proc.work(60, 200, 10)
    proc.work(62, 90)
    assert finder.find() == (Executor("app-1", "0", 60, 4, 300 / TICKS_PER_S, (60, 61, 62)),)


def test_children_that_come_later_join(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, executor_arguments())
    assert [executor.pids for executor in finder.find()] == [(60,)]
    proc.start(61, ["python"], parent_pid=60)
    assert [executor.pids for executor in finder.find()] == [(60, 61)]
    proc.end(61)
    assert [executor.pids for executor in finder.find()] == [(60,)]
    proc.end(60)
    assert finder.find() == ()


def test_only_those_of_the_host_name(proc: FakeProc) -> None:
    proc.start(60, executor_arguments(executor_id="0", hostname="127.0.0.2"))
    proc.start(61, executor_arguments(executor_id="1", hostname="127.0.0.3"))
    proc.start(62, ["java", CLASS, "--app-id", "app-1", "--executor-id", "2"])
    proc.start(63, executor_arguments(executor_id="3", hostname="[fd00::7]"))
    proc.start(64, executor_arguments(executor_id="4", hostname="Worker-7.example"))

    def ids(hostname: str | None) -> list[str]:
        finder = ExecutorFinder(hostname, ProcFolder(proc.root))
        return [executor.executor_id for executor in finder.find()]

    assert ids("127.0.0.2") == ["0"]
    assert ids("fd00::7") == ["3"]
    assert ids("worker-7.example") == ["4"]
    assert ids(None) == ["0", "1", "2", "3", "4"]


def test_new_processes_are_looked_for_only_now_and_then(proc: FakeProc) -> None:
    now_s = [0.0]
    finder = ExecutorFinder(None, ProcFolder(proc.root), lambda: now_s[0], scan_every_s=2.0)
    assert finder.find() == ()
    proc.start(60, executor_arguments())
    now_s[0] = 1.9
    assert finder.find() == ()
    now_s[0] = 2.0
    (executor,) = finder.find()
    assert executor.cpu_s == 0
    # The time of known ones is read at every call.
    proc.work(60, TICKS_PER_S)
    now_s[0] = 2.1
    assert [executor.cpu_s for executor in finder.find()] == [1.0]


def test_a_launcher_that_becomes_the_executor(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, ["bash", "/opt/entrypoint.sh", "executor"])
    proc.start(61, ["tail", "-f"], parent_pid=60)
    for _ in range(5):
        assert finder.find() == ()
    proc.exec(60, executor_arguments())
    for _ in range(40):
        found = finder.find()
    assert [executor.pids for executor in found] == [(60, 61)]


def test_a_wrapper_and_its_java_are_one_executor(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, ["tini", "-s", "--", *executor_arguments()])
    proc.start(61, executor_arguments(), parent_pid=60)
    proc.start(62, executor_arguments(), parent_pid=61)
    proc.work(61, TICKS_PER_S)
    (executor,) = finder.find()
    assert (executor.pid, executor.cpu_s, executor.pids) == (60, 1.0, (60, 61, 62))


def test_orphans_of_an_executor_are_no_executors(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, executor_arguments())
    proc.start(61, executor_arguments(), parent_pid=60)
    assert len(finder.find()) == 1
    proc.end(60)
    proc.work(61, 5, parent_pid=1, started_ticks=102)
    for _ in range(5):
        assert finder.find() == ()


def test_a_zombie_is_no_executor_any_more(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, executor_arguments())
    assert len(finder.find()) == 1
    proc.work(60, 5, state="Z")
    proc.exec(60, [])
    for _ in range(3):
        assert finder.find() == ()


def test_a_pid_that_is_used_again_is_another_process(
    proc: FakeProc, finder: ExecutorFinder
) -> None:
    proc.start(60, executor_arguments(executor_id="0"))
    proc.start(61, ["python"], parent_pid=60)
    proc.work(61, 500)
    assert [executor.pids for executor in finder.find()] == [(60, 61)]
    proc.end(61)
    proc.start(61, ["sshd"], parent_pid=1)
    proc.work(61, 90_000)
    (executor,) = finder.find()
    assert (executor.pids, executor.cpu_s) == ((60,), 500 / TICKS_PER_S)
    proc.end(60)
    proc.start(60, executor_arguments(executor_id="1"))
    found = finder.find() or finder.find()
    assert [(executor.executor_id, executor.pids, executor.cpu_s) for executor in found] == [
        ("1", (60,), 0.0)
    ]


def test_a_child_is_older_than_the_new_owner_of_its_parents_pid(
    proc: FakeProc, finder: ExecutorFinder
) -> None:
    proc.start(70, ["sleep"], parent_pid=60)
    finder.find()
    proc.start(60, executor_arguments())
    assert [executor.pids for executor in finder.find()] == [(60,)]


def test_the_time_never_falls(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, executor_arguments())
    proc.start(61, ["python"], parent_pid=60)
    proc.work(60, 100)
    proc.work(61, 1000)
    first = finder.find()[0].cpu_s
    proc.end(61)
    second = finder.find()[0].cpu_s
    proc.work(60, 100, 1002)
    third = finder.find()[0].cpu_s
    assert [first, second, third] == [ticks / TICKS_PER_S for ticks in (1100, 1100, 1102)]


def test_what_cannot_be_read_keeps_its_last_value(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(60, executor_arguments())
    proc.work(60, 100)
    before = finder.find()
    (proc.root / "60" / "stat").rename(proc.root / "60" / "kept")
    (proc.root / "60" / "stat").mkdir()
    assert finder.find() == before
    proc.start(61, executor_arguments(executor_id="1"))
    (proc.root / "61" / "cmdline").unlink()
    (proc.root / "61" / "cmdline").mkdir()
    assert finder.find() == before


def test_the_older_of_two_that_claim_the_same(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(90, executor_arguments())
    proc.start(80, executor_arguments())
    assert [executor.pid for executor in finder.find()] == [90]


def test_a_crowd_of_liars_is_bounded(proc: FakeProc, finder: ExecutorFinder) -> None:
    for number in range(MOST_EXECUTORS + 5):
        proc.start(1000 + number, executor_arguments(executor_id=str(number)))
    assert len(finder.find()) == MOST_EXECUTORS


def test_a_crowd_of_children_is_bounded(proc: FakeProc, finder: ExecutorFinder) -> None:
    proc.start(1, executor_arguments())
    for number in range(MOST_PROCESSES + 5):
        proc.start(1000 + number, ["x"], parent_pid=1)
    for _ in range(4):
        (executor,) = finder.find()
    assert len(executor.pids) == MOST_PROCESSES


_BURN = """
import os, sys, time
child = os.fork()
until_s = float(sys.stdin.readline()) if child == 0 else 0.0
while child == 0:
    if time.process_time() > until_s:
        os._exit(0)
os.waitpid(child, 0)
print("reaped", flush=True)
time.sleep(600)
"""


@pytest.fixture
def burner() -> Iterator[Callable[[str], subprocess.Popen[str]]]:
    """Starts real processes that look like executors and have a child that burns CPU time."""
    started: list[subprocess.Popen[str]] = []

    def start(application: str) -> subprocess.Popen[str]:
        arguments = executor_arguments(application)
        process = subprocess.Popen(
            [sys.executable, "-c", _BURN, *arguments[4:]],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        started.append(process)
        return process

    yield start
    for process in started:
        os.killpg(process.pid, signal.SIGKILL)
        process.communicate()


def wait_for(
    finder: ExecutorFinder, application: str, is_so: Callable[[tuple[Executor, ...]], bool]
) -> tuple[Executor, ...]:
    until_s = time.monotonic() + LONGEST_S
    while time.monotonic() < until_s:
        found = tuple(each for each in finder.find() if each.application == application)
        if is_so(found):
            return found
        time.sleep(0.02)
    pytest.fail(f"not within {LONGEST_S} s: {finder.find()}")


def with_processes(count: int) -> Callable[[tuple[Executor, ...]], bool]:
    return lambda found: [len(executor.pids) for executor in found] == [count]


def test_real_processes(burner: Callable[[str], subprocess.Popen[str]]) -> None:
    application = f"app-{os.getpid()}-{time.monotonic_ns()}"
    process = burner(application)
    finder = ExecutorFinder("10.0.0.5", scan_every_s=0.0)
    (executor,) = wait_for(finder, application, with_processes(2))
    assert (executor.pid, executor.cores, executor.pids[0]) == (process.pid, 4, process.pid)
    idle_s = executor.cpu_s
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("0.3\n")
    process.stdin.flush()
    wait_for(finder, application, lambda found: found[0].cpu_s > idle_s)
    assert process.stdout.readline() == "reaped\n"
    # The child's time is its parent's now and is still counted, once.
    wait_for(finder, application, with_processes(1))
    before_s = sum(psutil.Process(process.pid).cpu_times()[:4])
    (ended,) = wait_for(finder, application, with_processes(1))
    after_s = sum(psutil.Process(process.pid).cpu_times()[:4])
    assert before_s >= 0.2
    assert before_s - 0.05 <= ended.cpu_s <= after_s + 0.05
    process.kill()
    wait_for(finder, application, lambda found: not found)
