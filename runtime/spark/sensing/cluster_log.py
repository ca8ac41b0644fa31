"""What the sensor remembers of the cluster: which configuration ran when, and how many clock
cycles the executors have used since rows were last completed.

Pure; both are told once a step.
"""

from collections import deque
from collections.abc import Mapping
from itertools import pairwise

from mpc.values import Configuration

_REMEMBERED_STEPS = 600


class ConfigurationLog:
    """Observed once a step; a configuration is taken to hold since the observation before it,
    because decisions are applied right after one and show in the next."""

    def __init__(self) -> None:
        self._noted: deque[tuple[float, Configuration]] = deque(maxlen=_REMEMBERED_STEPS)

    def note(self, time_s: float, observed: Configuration) -> None:
        self._noted.append((time_s, observed))

    def during(self, started_s: float, finished_s: float) -> Configuration:
        """The average over that time, rounded; what ran at its end if it took none."""
        if not self._noted:
            raise RuntimeError("no configuration noted yet; call note() first")
        executor_s = cycles_per_khz = total_s = 0.0
        since_s = started_s
        for until_s, observed in self._noted:
            held_s = min(until_s, finished_s) - since_s
            if held_s > 0:
                total_s += held_s
                executor_s += held_s * observed.executors
                cycles_per_khz += held_s * observed.executors * observed.frequency_khz
                since_s += held_s
        newest = self._noted[-1][1]
        rest_s = max(finished_s - since_s, 0.0)
        total_s += rest_s
        executor_s += rest_s * newest.executors
        cycles_per_khz += rest_s * newest.executors * newest.frequency_khz
        if executor_s <= 0:
            return newest
        return Configuration(
            max(round(executor_s / total_s), 1), round(cycles_per_khz / executor_s)
        )

    def grew(self, started_s: float, finished_s: float) -> bool:
        """Whether executors may have come in that time: one that is seen came since the note
        before."""
        return any(
            now.executors > then.executors and now_s > started_s and then_s < finished_s
            for (then_s, then), (now_s, now) in pairwise(self._noted)
        )


class CycleCount:
    """Clock cycles that the executors spent since rows were last completed.

    An executor counts from the second time it is seen: what it used before went into its start.
    Executors are named by application and id.
    """

    def __init__(self) -> None:
        self._before_s: Mapping[tuple[str, str], float] = {}
        self._cycles: float | None = 0.0

    def add(self, cpu_s: Mapping[tuple[str, str], float] | None, frequency_khz: int) -> None:
        """One step. CPU times that are not known make the sum unknown until rows are completed."""
        before_s, self._before_s = self._before_s, cpu_s or {}
        if cpu_s is None:
            self._cycles = None
        if self._cycles is None:
            return
        for executor, now_s in self._before_s.items():
            then_s = before_s.get(executor)
            # Falls when a Python worker ends and takes its account with it.
            if then_s is not None and now_s > then_s:
                self._cycles += (now_s - then_s) * frequency_khz * 1e3

    def per_row(self, rows: int) -> float | None:
        """None without rows, whose cycles then count for the next; otherwise begins anew."""
        if not rows:
            return None
        cycles, self._cycles = self._cycles, 0.0
        return cycles / rows if cycles else None

    def forget(self) -> None:
        """What an idle engine used is not the cost of any row."""
        self._cycles = 0.0
