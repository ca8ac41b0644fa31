"""Spark's rate source: so many rows a second since the query was first started.

A row comes into being at its own timestamp; the source hands it out when its second is over, which
is the same rate half a second later. Counted by whole seconds, a step of one second would sometimes
see none of them and sometimes two.
"""

import re

from runtime.spark.sensing.offsets import Offset
from runtime.spark.sensing.sources.contract import SourceCount, SourceInfo

_DESCRIBED = re.compile(r"rowsPerSecond=(\d+), rampUpTimeSeconds=(\d+)")


class RateCounter:
    """Options come from the description, in which Spark has worked out its defaults and units."""

    def __init__(self, source: SourceInfo) -> None:
        found = _DESCRIBED.search(source.description)
        if found is None:
            raise ValueError(f"not a description of a rate source: {source.description}")
        self._rows_per_s, self._ramp_s = int(found[1]), int(found[2])
        self._began_s = source.began_s
        self._finished_rows = 0

    def reached(self, _offset: Offset) -> None:
        """A second of the source, which says nothing new: when it began the driver knows."""

    def finished(self, offset: Offset, _rows: int) -> None:
        second = offset.get(())
        if second is not None:
            self._finished_rows = self._rows_at(second)

    def count(self, wall_s: float) -> SourceCount | None:
        if self._began_s is None:
            return None
        passed_s = max(wall_s - self._began_s, 0.0)
        second = int(passed_s)
        before, after = self._rows_at(second), self._rows_at(second + 1)
        arrived = before + (after - before) * (passed_s - second)
        return SourceCount(arrived, max(arrived - self._finished_rows, 0.0))

    def _rows_at(self, second: int) -> int:
        """As Spark's `RateStreamProvider.valueAtSecond`: the ramp rises by whole rows."""
        ramp_s = min(second, self._ramp_s)
        ramp = self._rows_per_s // (self._ramp_s + 1) * ramp_s * (ramp_s + 1) // 2
        return ramp + (second - ramp_s) * self._rows_per_s
