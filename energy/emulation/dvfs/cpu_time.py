"""The CPU time of a whole family of processes, children that come and go included."""

from collections.abc import Iterable

from energy.emulation.dvfs.processes import Process, Snapshot, Times, family


class FamilyTime:
    """Adds up what a family uses from the moment this is made.

    Members are told apart between snapshots: who is new was born in the family, so all of its
    time counts; who is gone left its last stretch in what its parent waited for. Lost is only the
    last stretch of a process that nobody of the family waited for.
    """

    def __init__(self, heads: Iterable[Process], snapshot: Snapshot) -> None:
        self._seen: dict[Process, Times] = {
            process: snapshot[process] for process in family(heads, snapshot)
        }

    @property
    def members(self) -> tuple[Process, ...]:
        """As of the last snapshot. A child whose parent ended stays in the family."""
        return tuple(self._seen)

    def advance(self, snapshot: Snapshot) -> float:
        """CPU seconds since the last snapshot."""
        now = {process: snapshot[process] for process in family(self._seen, snapshot)}
        counted_s: dict[int, float] = {}
        for process, times in self._seen.items():
            if process not in now:
                known_s = counted_s.get(times.parent_pid, 0.0)
                counted_s[times.parent_pid] = known_s + times.own_s + times.waited_s
        gained_s = 0.0
        for process, times in now.items():
            before = self._seen.get(process, Times(times.parent_pid, 0.0, 0.0))
            waited_s = times.waited_s - before.waited_s - counted_s.get(process.pid, 0.0)
            # Waited time is in hundredths, and children nobody waits for never get there.
            gained_s += max(0.0, times.own_s - before.own_s) + max(0.0, waited_s)
        self._seen = now
        return gained_s
