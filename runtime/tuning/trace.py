"""The rates a tuning runs on: a rate file, recorded ticks or a journal, cut into blocks.

Blocks keep the order of time within them, and folds are contiguous stretches, so that what is held
back is never the neighbour second of what was seen.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import numpy as np

from mpc.values import FloatArray
from runtime.control.journal import StepRecord
from runtime.rates import averaged_to, read_equity_ticks, read_rates

SIZING_S = 60.0
"""The cluster is sized by the busiest minute; single seconds are what its backlog is for."""


@dataclass(frozen=True, slots=True, eq=False)
class Trace:
    """Rows per second in bins of equal length, without gaps."""

    rates_per_s: FloatArray
    bin_s: float
    source: str
    begin_s: float | None = None
    """Of the first bin, seconds since 1970; None where nobody knows."""

    @property
    def duration_s(self) -> float:
        return len(self.rates_per_s) * self.bin_s

    @property
    def busiest_per_s(self) -> float:
        """The highest mean of a minute, or of a bin that is longer."""
        means = self.at_step(max(SIZING_S, self.bin_s)) if self.duration_s > SIZING_S else ()
        busiest = float(max(means, default=0.0)) or float(self.rates_per_s.max())
        if busiest <= 0:
            raise ValueError(f"{self.source}: every rate is zero")
        return busiest

    def part(self, begin_s: float, end_s: float) -> "Trace":
        first, last = round(begin_s / self.bin_s), round(end_s / self.bin_s)
        since_s = None if self.begin_s is None else self.begin_s + first * self.bin_s
        return Trace(self.rates_per_s[first:last], self.bin_s, self.source, since_s)

    def at_step(self, step_s: float) -> FloatArray:
        """Means over control steps; a bin that is longer than a step goes on at its rate."""
        steps = int(self.duration_s / step_s + 1e-9)
        edges_s = np.arange(len(self.rates_per_s) + 1) * self.bin_s
        rows = np.concatenate([[0.0], np.cumsum(self.rates_per_s * self.bin_s)])
        at = np.interp(np.arange(steps + 1) * step_s, edges_s, rows)
        return np.asarray(np.diff(at) / step_s)


@dataclass(frozen=True, slots=True)
class TraceBlock:
    """A stretch of the trace that one simulation runs on."""

    fold: int
    begin_s: float
    end_s: float


def read_trace(path: Path, column: str | None, bin_s: float) -> Trace:
    """Rates of a text file, one a line and `bin_s` apart; or ticks (parquet, or a folder of days),
    counted every second of their sessions."""
    days = sorted(path.glob("*.parquet")) if path.is_dir() else [path]
    if path.is_dir() and not days:
        raise ValueError(f"{path}: no .parquet file with ticks in this folder")
    if days[0].suffix == ".parquet":
        counted = [read_equity_ticks(day, acceleration=1.0).tuples_per_s for day in days]
        return Trace(np.concatenate(counted), 1.0, f"{path.name}, ticks of {len(days)} days")
    values = read_rates(path, column)
    return Trace(averaged_to(values, len(values)), bin_s, path.name)


def journaled_trace(records: Sequence[StepRecord], source: str) -> Trace:
    """The arrivals that were measured, at the times they belong to; what was missed is bridged."""
    known = [
        (record.at_s - record.measurement.arrivals_age_s, record.measurement.arrivals_per_s)
        for record in records
        if record.measurement.arrivals_per_s is not None
    ]
    if len(known) < 3:
        raise ValueError(f"{source}: fewer than three steps with measured arrivals")
    times, rates = np.array(known).T
    order = np.argsort(times, kind="stable")
    times, rates = times[order], rates[order]
    bin_s = max(round(median(np.diff(times)), 0), 1.0)
    bins = np.arange(times[0], times[-1] + bin_s / 2, bin_s)
    return Trace(np.asarray(np.interp(bins, times, rates)), float(bin_s), source, float(times[0]))


def blocks_of(
    duration_s: float, folds: int, per_fold: int, block_s: float, first_s: float = 0.0
) -> tuple[TraceBlock, ...]:
    """Blocks at even distances in each of the folds, shorter ones where the trace is short."""
    room_s = duration_s / folds / per_fold
    length_s = min(block_s, room_s)
    begins_s = first_s + np.arange(folds * per_fold) * room_s + (room_s - length_s) / 2.0
    return tuple(
        TraceBlock(index // per_fold, float(begin_s), float(begin_s) + length_s)
        for index, begin_s in enumerate(begins_s)
    )
