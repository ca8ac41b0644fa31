"""Finds the Spark executors of this host and the CPU time of each with its Python workers.

Made to be called every second: new processes are looked for every few seconds, and in between only
the known executors' own processes are read. Command lines are whatever a user of the host wrote
into them, so names are short and plain or the process is no executor, and everything is bounded.
It only reads. One thread at a time.
"""

import re
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from energy.processes import NS_PER_S, Process, ProcessStat, ProcFolder, TreeTime

MOST_EXECUTORS = 1024
MOST_PROCESSES = 2048
"""Read at each call, over all executors."""
_MOST_LOOKS = 1024
"""New processes looked at in one scan; the others wait for the next."""
_LONGEST_WAIT_SCANS = 32

# The main class stands between the options of java and those of Spark.
_MAIN_CLASS = re.compile(
    rb"\0org\.apache\.spark\.(?:executor\.(?:Yarn)?CoarseGrainedExecutorBackend"
    rb"|scheduler\.cluster\.k8s\.KubernetesExecutorBackend)\0"
)
_MOST_ARGUMENTS = 128
_NAME = re.compile(rb"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
_HOSTNAME = re.compile(rb"[A-Za-z0-9\[][A-Za-z0-9.:_%\]-]{0,252}")
_CORES = re.compile(rb"[1-9][0-9]{0,3}")


@dataclass(frozen=True, slots=True)
class Executor:
    application: str
    executor_id: str
    pid: int
    cores: int | None
    """None: its command line does not say."""
    cpu_s: float
    """User and system time since it began, of its JVM and all of their descendants."""
    pids: tuple[int, ...]
    """All of its processes that live now, the executor's own first."""


@dataclass(frozen=True, slots=True)
class ExecutorArguments:
    """What the command line of an executor says."""

    application: str
    executor_id: str
    hostname: str | None
    """An IPv6 address without its brackets."""
    cores: int | None


def parse_command_line(command_line: bytes) -> ExecutorArguments | None:
    """None: no executor, or one whose arguments are not what Spark writes."""
    main_class = _MAIN_CLASS.search(command_line)
    if main_class is None:
        return None
    # What follows the last zero byte is nothing, or an argument that was cut off.
    arguments = command_line[main_class.end() :].split(b"\0", _MOST_ARGUMENTS)[:-1]
    options = dict(zip(arguments[::2], arguments[1::2], strict=False))
    application = options.get(b"--app-id", b"")
    executor_id = options.get(b"--executor-id", b"")
    hostname = options.get(b"--hostname")
    cores = options.get(b"--cores")
    if not _NAME.fullmatch(application) or not _NAME.fullmatch(executor_id):
        return None
    if hostname is not None and not _HOSTNAME.fullmatch(hostname):
        return None
    if cores is not None and not _CORES.fullmatch(cores):
        return None
    return ExecutorArguments(
        application.decode(),
        executor_id.decode(),
        None if hostname is None else hostname.decode().strip("[]"),
        None if cores is None else int(cores),
    )


@dataclass(slots=True)
class _Tree:
    claim: ExecutorArguments
    members: dict[int, ProcessStat] = field(default_factory=dict)
    """By pid, parents before their children, as they were last read."""
    time: TreeTime = field(default_factory=TreeTime)
    ended: bool = False


@dataclass(slots=True)
class _Known:
    """A process that was looked at."""

    stat: ProcessStat
    claim: ExecutorArguments | None = None
    tree: _Tree | None = None
    """Stays when the executor ends: its orphans are not executors."""
    wait_scans: int = 1
    due_scan: int = 0


class ExecutorFinder:
    def __init__(
        self,
        hostname: str | None = None,
        processes: ProcFolder | None = None,
        clock_s: Callable[[], float] = time.monotonic,
        scan_every_s: float = 2.0,
    ) -> None:
        """With a `hostname`, only executors that Spark registered under it."""
        self._hostname = hostname
        self._processes = processes or ProcFolder()
        self._clock_s = clock_s
        self._scan_every_s = scan_every_s
        self._scanned_s: float | None = None
        self._scans = 0
        self._known: dict[int, _Known] = {}
        self._trees: dict[Process, _Tree] = {}

    def find(self) -> tuple[Executor, ...]:
        """The executors that live now, oldest first; one of each application and id."""
        now_s = self._clock_s()
        if self._scanned_s is None or not 0 <= now_s - self._scanned_s < self._scan_every_s:
            self._scanned_s = now_s
            self._scan()
        found: dict[tuple[str, str], Executor] = {}
        for root in sorted(self._trees, key=_age):
            tree = self._trees[root]
            self._read(tree)
            main = tree.members.get(root.pid)
            if main is None or main.is_zombie:
                self._end(root)
                continue
            claim = tree.claim
            found.setdefault(
                (claim.application, claim.executor_id),
                Executor(
                    application=claim.application,
                    executor_id=claim.executor_id,
                    pid=main.pid,
                    cores=claim.cores,
                    cpu_s=tree.time.used_ns / NS_PER_S,
                    pids=tuple(tree.members),
                ),
            )
        return tuple(found.values())

    def _end(self, root: Process) -> None:
        tree = self._trees.pop(root)
        tree.members.clear()
        tree.ended = True

    def _read(self, tree: _Tree) -> None:
        for pid, last in list(tree.members.items()):
            stat = self._stat(pid, last)
            if stat is None or stat.process != last.process:
                del tree.members[pid]
                self._known.pop(pid, None)
            else:
                tree.members[pid] = stat
        tree.time.add(tree.members.values())

    def _stat(self, pid: int, last: ProcessStat | None = None) -> ProcessStat | None:
        try:
            return self._processes.stat(pid)
        except OSError:
            # Not gone but unreadable, as when the agent has no file descriptor left.
            return last

    def _scan(self) -> None:
        try:
            living = self._processes.pids()
        except OSError:
            return
        self._scans += 1
        for pid in self._known.keys() - set(living):
            del self._known[pid]
        due = [pid for pid in living if self._is_due(pid)]
        is_new = [self._look(pid) for pid in due[:_MOST_LOOKS]]
        if any(is_new):
            self._assign()

    def _is_due(self, pid: int) -> bool:
        known = self._known.get(pid)
        if known is None:
            return True
        is_read_anyway = known.tree is not None and pid in known.tree.members
        return known.due_scan <= self._scans and not is_read_anyway

    def _look(self, pid: int) -> bool:
        """Whether that brought anything new."""
        stat = self._stat(pid)
        if stat is None:
            self._known.pop(pid, None)
            return False
        known = self._known.get(pid)
        is_new = known is None or known.stat.process != stat.process
        if known is None or is_new:
            known = self._known[pid] = _Known(stat)
        known.claim = self._claim(pid)
        # A launcher becomes an executor by exec, under the same pid: look again, ever more rarely.
        known.due_scan = self._scans + known.wait_scans
        known.wait_scans = min(2 * known.wait_scans, _LONGEST_WAIT_SCANS)
        return is_new or known.claim is not None

    def _claim(self, pid: int) -> ExecutorArguments | None:
        try:
            claim = parse_command_line(self._processes.command_line(pid))
        except OSError:
            return None
        if claim is None or self._hostname is None:
            return claim
        is_here = claim.hostname is not None and claim.hostname.lower() == self._hostname.lower()
        return claim if is_here else None

    def _assign(self) -> None:
        """Give every process that is in no tree yet to the tree of its parent, or its own.

        The outermost command line of an executor makes the tree: a wrapper (tini, numactl) has the
        same arguments as the java it starts, and so has a child of java that has yet to exec.
        """
        room = MOST_PROCESSES - sum(len(tree.members) for tree in self._trees.values())
        loose = [known for known in self._known.values() if known.tree is None]
        # Parents are older than their children; pids tell them apart within one tick.
        for known in sorted(loose, key=lambda known: _age(known.stat.process)):
            if room == 0:
                return
            tree = self._tree_of_parent(known)
            if tree is None and known.claim is not None and len(self._trees) < MOST_EXECUTORS:
                tree = self._trees[known.stat.process] = _Tree(known.claim)
            known.tree = tree
            if tree is not None and not tree.ended:
                tree.members[known.stat.pid] = known.stat
                room -= 1

    def _tree_of_parent(self, known: _Known) -> _Tree | None:
        parent = self._known.get(known.stat.parent_pid)
        # A parent is never younger: that pid has been given to another process since.
        if parent is None or parent.stat.process.start_ticks > known.stat.process.start_ticks:
            return None
        return parent.tree


def _age(process: Process) -> tuple[int, int]:
    """Sorts the oldest first; pids decide within one tick."""
    return process.start_ticks, process.pid
