"""Charts over time: lines or steps of several policies above one time axis."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from runtime.report import scales
from runtime.report.frame import Frame, drawing, text, x_axis, y_axis
from runtime.report.markup import Markup, element, join
from runtime.report.scales import Scale

LARGE_RANGE = 10.0
"""Values that differ by more than this factor go on a logarithmic axis, where that is allowed."""

SECONDS_PER_UNIT = (("h", 3600.0, 6 * 3600.0), ("min", 60.0, 900.0), ("s", 1.0, 0.0))
"""Unit of the time axis, its length, and the duration from which on it is used."""


@dataclass(frozen=True, slots=True)
class Line:
    label: str
    colour: str
    values: tuple[float | None, ...]
    """One a step; None leaves a gap."""
    strong: bool = False


@dataclass(frozen=True, slots=True)
class Panel:
    """One quantity of several policies."""

    key: str
    title: str
    unit: str
    made: str
    """How its values came about: simulated, measured or emulated."""
    lines: tuple[Line, ...]
    background: tuple[float | None, ...] | None = None
    """A quantity drawn as an area behind the lines."""
    stepped: bool = False
    """The value holds for its whole step; neighbouring lines are set apart by a pixel or two."""
    may_be_log: bool = False
    from_zero: bool = False
    threshold: float | None = None


@dataclass(frozen=True, slots=True)
class _Axes:
    x: Scale
    y: Scale
    step_x: float
    """Length of one step on the time axis, in its unit."""


@dataclass(frozen=True, slots=True)
class Strip:
    """The steps at which something happened to one policy."""

    label: str
    colour: str
    steps: tuple[int, ...]


def panel_svg(panel: Panel, step_s: float, frame: Frame) -> Markup:
    steps = _steps(panel)
    x, time_unit = time_scale(steps, step_s, frame)
    y = _value_scale(panel, frame)
    parts: list[str] = [y_axis(frame, y), x_axis(frame, x, f"time ({time_unit})")]
    axes = _Axes(x, y, x.high / max(steps, 1))
    if panel.background is not None:
        parts.append(_area(panel.background, axes, frame))
    if panel.threshold is not None:
        at = y(panel.threshold)
        parts.append(element("line", class_="limit", x1=frame.left, x2=frame.x_end, y1=at, y2=at))
    for index, line in enumerate(panel.lines):
        shift_px = 1.6 * (index - (len(panel.lines) - 1) / 2) if panel.stepped else 0.0
        path = _path(line.values, axes, frame, panel.stepped, shift_px)
        if path:
            strength = " strong" if line.strong else ""
            parts.append(element("path", d=path, class_=f"line {line.colour}{strength}"))
    if panel.threshold is not None:
        at = y(panel.threshold)
        parts.append(text(frame.x_end - 4, at - 5, "threshold", "small end halo"))
    if frame.has_room_for_names:
        parts.append(_end_labels(panel.lines, y, frame))
    parts.append(_cursor(frame))
    names = ", ".join(line.label for line in panel.lines)
    return drawing(
        frame,
        f"{panel.title} in {panel.unit} over time, {panel.made}: {names}",
        *parts,
        class_="panel",
        data_left=f"{frame.left:g}",
        data_right=f"{frame.x_end:g}",
    )


def strips_svg(
    strips: Sequence[Strip], steps: int, step_s: float, made: str, frame: Frame
) -> Markup:
    """One row a policy with a mark at each of its steps, and how many there are."""
    x, _ = time_scale(steps, step_s, frame)
    step_x = x.high / max(steps, 1)
    row_px = (frame.y_end - frame.top) / max(len(strips), 1)
    parts: list[str] = []
    for row, strip in enumerate(strips):
        top = frame.top + row * row_px + 3
        bottom = top + row_px - 6
        parts.append(
            element("line", class_="grid", x1=frame.left, x2=frame.x_end, y1=bottom, y2=bottom)
        )
        marks = "".join(
            f"M{x((step + 0.5) * step_x):.1f} {top:.1f}V{bottom:.1f}" for step in strip.steps
        )
        if marks:
            parts.append(element("path", d=marks, class_=f"mark {strip.colour}"))
        words = (
            f"{strip.label} {len(strip.steps)}"
            if frame.has_room_for_names
            else f"{len(strip.steps)}"
        )
        parts.append(text(frame.x_end + 8, bottom - 1, words, f"name {strip.colour}"))
    parts.append(_cursor(frame))
    counted = ", ".join(f"{strip.label} {len(strip.steps)}" for strip in strips)
    return drawing(
        frame,
        f"steps above the threshold, {made}: {counted}",
        *parts,
        class_="panel",
        data_left=f"{frame.left:g}",
        data_right=f"{frame.x_end:g}",
    )


def time_scale(steps: int, step_s: float, frame: Frame) -> tuple[Scale, str]:
    total_s = max(steps, 1) * step_s
    unit, length_s, _ = next(unit for unit in SECONDS_PER_UNIT if total_s >= unit[2])
    ticks = 4 if frame.is_narrow else 9
    return scales.exact(0.0, total_s / length_s, frame.left, frame.x_end, ticks), unit


def finite(values: Sequence[float | None]) -> list[float]:
    return [value for value in values if value is not None and math.isfinite(value)]


def _steps(panel: Panel) -> int:
    return max((len(line.values) for line in panel.lines), default=0)


def _value_scale(panel: Panel, frame: Frame) -> Scale:
    values = [value for line in panel.lines for value in finite(line.values)]
    values += finite(panel.background or ())
    if panel.threshold is not None:
        values.append(panel.threshold)
    positive = [value for value in values if value > 0]
    if panel.may_be_log and positive and max(positive) > LARGE_RANGE * min(positive):
        return scales.logarithmic(positive, frame.y_end, frame.top)
    if panel.from_zero:
        values.append(0.0)
    return scales.linear(values, frame.y_end, frame.top, ticks=6)


def _path(
    values: Sequence[float | None],
    axes: _Axes,
    frame: Frame,
    stepped: bool,
    shift_px: float = 0.0,
) -> str:
    """The line, with a gap wherever a value is missing."""
    x, step_x = axes.x, axes.step_x
    words: list[str] = []
    drawn = False
    for index, value in thinned(values, int(frame.plot_width)):
        if value is None:
            drawn = False
            continue
        at = axes.y(value) + shift_px
        if stepped:
            begin, end = x(index * step_x), x((index + 1) * step_x)
            words.append(f"{'L' if drawn else 'M'}{begin:.1f} {at:.1f}H{end:.1f}")
        else:
            words.append(f"{'L' if drawn else 'M'}{x((index + 0.5) * step_x):.1f} {at:.1f}")
        drawn = True
    return "".join(words)


def _area(values: Sequence[float | None], axes: _Axes, frame: Frame) -> Markup:
    """Down to the axis on both sides of every gap."""
    closed = []
    for run in _path(values, axes, frame, stepped=False).split("M")[1:]:
        left, right = (point.split()[0] for point in (run.split("L")[0], run.split("L")[-1]))
        closed.append(f"M{run}L{right} {frame.y_end:.1f}L{left} {frame.y_end:.1f}Z")
    return element("path", d="".join(closed), class_="area") if closed else Markup("")


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


def _end_labels(lines: Sequence[Line], y: Scale, frame: Frame) -> Markup:
    """The name of each line beside its end, moved apart where ends are close."""
    ends = [(y(known[-1]), line) for line in lines if (known := finite(line.values))]
    ends.sort(key=lambda end: end[0])
    places = apart([end for end, _ in ends], 15.0, frame.top + 4, frame.y_end)
    return join(
        [
            text(frame.x_end + 8, place + 4, line.label, f"name {line.colour}")
            for place, (_, line) in zip(places, ends, strict=True)
        ]
    )


def apart(wanted: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Ascending places at least `gap` apart, near the wanted ones and inside where they fit."""
    places: list[float] = []
    for place in wanted:
        places.append(max(place, places[-1] + gap if places else low))
    limit = high
    for index in reversed(range(len(places))):
        places[index] = min(places[index], limit)
        limit = places[index] - gap
    return places


def _cursor(frame: Frame) -> Markup:
    """Moved by the pointer where scripts run."""
    return element("line", class_="cursor", x1=0, x2=0, y1=frame.top, y2=frame.y_end)
