"""What a chart is, as data: the page and every report draw it with the same script.

A line is a list of (time, value) with None wherever it breaks off. Nothing here draws; the script
is `runtime/web/assets/chart.js`.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from runtime.report.text import Format

Pair = tuple[float, float]
Polyline = Sequence[Pair | None]
MOST_PAIRS = 2_000
"""Of a line in a report; more a screen does not show."""


@dataclass(frozen=True, slots=True)
class ChartLine:
    key: str
    """Which of the lines it draws."""
    name: str
    style: str
    """A class of the style sheet: a colour, or what the line means."""
    stepped: bool = False
    """A value holds until the next one."""
    filled: bool = False
    """With the area below it, as a background."""


@dataclass(frozen=True, slots=True)
class ChartBand:
    """The range between two lines."""

    name: str
    about: str
    low: str
    high: str


@dataclass(frozen=True, slots=True)
class ChartLimit:
    name: str
    value: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Chart:
    """Lines over one time axis; the axis of values begins at 0 unless `near`."""

    id: str
    title: str
    note: str
    """Unit, and what else must be known to read it."""
    lines: tuple[ChartLine, ...] = ()
    format: Format = "number"
    band: ChartBand | None = None
    limit: ChartLimit | None = None
    marks: str | None = None
    """A line whose values are marked one by one, as being above the limit."""
    near: bool = False
    """The axis begins near the least value."""
    integers: bool = False
    cap: float | None = None
    """Values beyond this many times the usual are cut off."""
    logarithmic: bool = False
    """Where values differ by more than a factor of ten."""
    stacked: bool = False
    hides_missing: bool = False
    """Lines without a value are not named."""
    strips: bool = False
    """One row a line with a mark at each of its times; values do not matter."""
    remark: str = ""


@dataclass(frozen=True, slots=True)
class ScatterPoint:
    x: float
    y: float
    name: str
    style: str
    about: str
    """Shown under the pointer."""
    strong: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Scatter:
    """Points in two measures, a curve with its own points, and a bound nobody is beyond."""

    id: str
    label: str
    """For those who cannot see it."""
    x_title: str
    y_title: str
    points: tuple[ScatterPoint, ...]
    curve: tuple[ScatterPoint, ...] = ()
    bound: tuple[Pair, ...] = ()
    square_root: bool = False
    """The vertical axis shows square roots, so that small counts stay apart."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Drawing:
    """Everything the script of a report needs."""

    charts: tuple[Chart, ...] = ()
    lines: Mapping[str, Polyline] = field(default_factory=dict)
    span: Pair = (0.0, 1.0)
    clock: bool = False
    """Times are seconds since 1970, not since the start."""
    scatter: Scatter | None = None


def polyline(values: Sequence[float | None], step_s: float, stepped: bool = False) -> Polyline:
    """One value a step, from 0 on: in the middle of its step, or stepped over all of it."""
    begin = 0.0 if stepped else 0.5
    line = [
        None if value is None else (round((index + begin) * step_s, 6), float(f"{value:.6g}"))
        for index, value in thinned(values, MOST_PAIRS // 2)
    ]
    if stepped and line and (last := line[-1]) is not None:
        line.append((round(len(values) * step_s, 6), last[1]))
    return line


def thinned(values: Sequence[float | None], columns: int) -> list[tuple[int, float | None]]:
    """(index, value), at most two a column: its smallest and its largest, so no peak is lost."""
    clean = [
        (index, value if value is not None and math.isfinite(value) else None)
        for index, value in enumerate(values)
    ]
    if len(clean) <= 2 * columns:
        return clean
    kept: list[tuple[int, float | None]] = []
    for column in range(columns):
        part = clean[len(clean) * column // columns : len(clean) * (column + 1) // columns]
        present = [(value, index) for index, value in part if value is not None]
        if not present:
            kept.append((part[0][0], None))
            continue
        extremes = sorted({min(present)[::-1], max(present)[::-1]})
        kept.extend(extremes)
    return kept
