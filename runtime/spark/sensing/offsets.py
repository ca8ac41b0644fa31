"""Arithmetic on the offsets of streaming sources, whatever their shape.

Pure. Kafka counts by topic and partition, the rate source counts seconds, Python sources have any
dictionary: the numbers in an offset are its leaves, and how far a stream has advanced is the sum of
what each leaf has. Whether such a number counts rows, `RowCount` finds out from the batches.
"""

from collections.abc import Mapping

import msgspec

Offset = Mapping[tuple[str, ...], int]
"""The integer leaves of an offset by their path; a plain number has the empty path."""

_AGREEMENT = 0.05
"""Batches may differ so much in rows per offset: transaction markers of Kafka are no rows."""
_DEEPEST = 8


def parse_offset(value: object) -> Offset | None:
    """None for an offset without any integer, such as that of a source that has not begun."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except msgspec.DecodeError:
            return None
    leaves: dict[tuple[str, ...], int] = {}
    _collect(value, (), leaves)
    return leaves or None


def advance(start: Offset | None, end: Offset | None) -> int | None:
    """How far `end` is beyond `start`; None where one is missing or the stream went back.

    A leaf that is new at the end began at zero, as a partition added to a topic does.
    """
    if start is None or end is None:
        return None
    total = sum(number - start.get(path, 0) for path, number in end.items())
    return total if total >= 0 else None


def _collect(value: object, path: tuple[str, ...], leaves: dict[tuple[str, ...], int]) -> None:
    if isinstance(value, bool) or len(path) > _DEEPEST:
        return
    if isinstance(value, int):
        leaves[path] = value
    elif isinstance(value, dict):
        for key, below in value.items():
            _collect(below, (*path, str(key)), leaves)


class RowCount:
    """Learns how many rows one step of a source's offset stands for.

    Believed once two batches in a row agree: an index or a Kafka offset is one row, the rate
    source's second is as many as were asked for, the version of a table is anything.
    """

    def __init__(self) -> None:
        self._last: float | None = None
        self._rows_per_offset: float | None = None

    def learn(self, rows: int, advanced: int | None) -> None:
        if not rows or not advanced:
            return
        ratio = rows / advanced
        agree = self._last is not None and abs(ratio - self._last) <= _AGREEMENT * self._last
        self._rows_per_offset = ratio if agree else None
        self._last = ratio

    def rows(self, advanced: int | None) -> float | None:
        """None when not known; nothing is nothing in any unit."""
        if advanced is None:
            return None
        if advanced == 0:
            return 0.0
        return None if self._rows_per_offset is None else advanced * self._rows_per_offset
