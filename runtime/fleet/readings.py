"""Turns the counters of an agent into power and into CPU times that never fall.

Pure: reports in, figures out. Counters of two starts of an agent are never subtracted.
"""

from dataclasses import dataclass
from typing import get_args

from mpc.values import PowerSource
from runtime.agent.wire.messages import EnergyReport, ExecutorReport, ExecutorsReport
from runtime.fleet.state import ExecutorUse

_UJ_PER_MS_PER_W = 1000.0
_MS_PER_S = 1000.0
_LONGEST_ABSENCE = 100
"""Reports without an executor after which it is forgotten."""
MOST_CORES = 4096.0
_SOURCES: dict[str, PowerSource] = {source: source for source in get_args(PowerSource)}


class PowerGauge:
    """The mean power between the last two readings of an energy counter."""

    def __init__(self, stale_s: float) -> None:
        """A power is given for this long if the counter stands still: its meter may have failed."""
        self._stale_s = stale_s
        self._last: EnergyReport | None = None
        self._moved_at_s = 0.0
        self.power_w: float | None = None
        self.source: PowerSource | None = None

    def take(self, report: EnergyReport, now_s: float) -> None:
        last, total_uj = self._last, report.total_uj
        self.source = _SOURCES.get(report.source)
        if total_uj is None or self.source is None:
            self.forget()
        elif last is None or last.total_uj is None or not _continues(last, report):
            self._last, self._moved_at_s, self.power_w = report, now_s, None
        elif report.at_ms > last.at_ms:
            gained_uj = total_uj - last.total_uj
            self.power_w = gained_uj / (report.at_ms - last.at_ms) / _UJ_PER_MS_PER_W
            self._last, self._moved_at_s = report, now_s
        elif now_s - self._moved_at_s > self._stale_s:
            self.power_w = None

    def forget(self) -> None:
        self._last = self.power_w = self.source = None


def _continues(last: EnergyReport, report: EnergyReport) -> bool:
    same_counter = (last.boot_id, last.started_ms, last.source) == (
        report.boot_id,
        report.started_ms,
        report.source,
    )
    if not same_counter or last.total_uj is None or report.total_uj is None:
        return False
    return report.at_ms >= last.at_ms and report.total_uj >= last.total_uj


def _busy_cores(last: ExecutorsReport, report: ExecutorsReport) -> float | None:
    """Of everything on the host, between two reports of one start of it."""
    if last.busy_ms is None or report.busy_ms is None or report.at_ms <= last.at_ms:
        return None
    gained_ms = report.busy_ms - last.busy_ms
    return gained_ms / (report.at_ms - last.at_ms) if gained_ms >= 0 else None


@dataclass(slots=True)
class _Counter:
    last_ms: int = 0
    carried_ms: int = 0
    """Of earlier starts of the agent."""
    absent: int = 0


class CpuCounters:
    """CPU times of executors since they were first seen.

    An emulated host counts from its own start; when its agent restarts, what was counted before is
    carried over.
    """

    def __init__(self) -> None:
        self._counters: dict[tuple[str, str, int], _Counter] = {}
        self._last: ExecutorsReport | None = None
        self.busy_cores: float | None = None
        """Of everything on the host, between the last two reports."""

    def take(self, report: ExecutorsReport) -> tuple[ExecutorUse, ...]:
        last, self._last = self._last, report
        elapsed_ms = None if last is None else report.at_ms - last.at_ms
        if elapsed_ms is not None and elapsed_ms <= 0:
            elapsed_ms = None  # another start of the agent or of the host
        self.busy_cores = None if last is None else _busy_cores(last, report)
        for key, counter in list(self._counters.items()):
            counter.absent += 1
            if counter.absent > _LONGEST_ABSENCE:
                del self._counters[key]
        return tuple(self._use(executor, elapsed_ms) for executor in report.executors)

    def _use(self, executor: ExecutorReport, elapsed_ms: int | None) -> ExecutorUse:
        # With its pid: an executor that crashed may come back under its old id.
        key = (executor.application, executor.executor_id, executor.pid)
        is_new = key not in self._counters
        counter = self._counters.setdefault(key, _Counter())
        busy_cores = None
        # One that has just come began after the last report; one that was away did not.
        if elapsed_ms and executor.cpu_ms >= counter.last_ms and (is_new or counter.absent == 1):
            busy_cores = min((executor.cpu_ms - counter.last_ms) / elapsed_ms, MOST_CORES)
        if executor.cpu_ms < counter.last_ms:
            counter.carried_ms += counter.last_ms
        counter.last_ms = executor.cpu_ms
        counter.absent = 0
        cpu_s = (counter.carried_ms + executor.cpu_ms) / _MS_PER_S
        return ExecutorUse(
            executor.application, executor.executor_id, executor.cores, cpu_s, busy_cores
        )
