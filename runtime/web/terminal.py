"""The state at a glance in a terminal: the figures of the page, with a line of blocks for each."""

from collections.abc import Sequence
from fnmatch import fnmatch

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from mpc.events import Severity
from mpc.values import CostTerms
from runtime.metrics.figures import GlanceFigure, figures_of
from runtime.metrics.hosts import HostView
from runtime.metrics.lines import values_in_force
from runtime.metrics.state import Latest, RunState
from runtime.metrics.view import View
from runtime.report.text import FORMATS, clock, number
from runtime.report.words import place

BLOCKS = "▁▂▃▄▅▆▇█"
_DECISIONS = 6
_LABELS = 50
"""Columns in front of a line of blocks."""
_FEWEST_BLOCKS = 10
_MOODS = {"good": "green", "bad": "red", "": ""}
_SEVERITIES = {Severity.INFO: "green", Severity.NOTICE: "yellow", Severity.WARNING: "red"}
_CONDITIONS = {"controlled": "green", "watched": "green", "recovered": "green", "lost": "red"}


def screen(state: RunState, now_s: float, width: int) -> RenderableType:
    """Everything, for a terminal of so many columns."""
    view = state.view(now_s=now_s)
    latest = state.latest(view)
    if latest is None:
        return Text(f"{state.facts.application}: no step yet", style="dim")
    parts: list[RenderableType] = [_head(state, now_s), _figures(state, view, width)]
    if latest.alternatives and latest.cost is not None:
        parts.append(_alternatives(latest, latest.cost))
    hosts = _hosts(state.reported_hosts)
    if hosts is not None:
        parts.append(hosts)
    parts.append(_decisions(state))
    return Group(*(part for each in parts for part in (each, Text())))


def sparkline(values: Sequence[float | None], late: Sequence[bool], columns: int) -> Text:
    """The last values from their least to their most; late ones red, missing ones blank."""
    values, late = values[-columns:], late[-columns:]
    known = [value for value in values if value is not None]
    low, high = min(known, default=0.0), max(known, default=0.0)
    line = Text()
    for value, is_late in zip(values, late, strict=True):
        if value is None:
            line.append(" ")
            continue
        share = (value - low) / (high - low) if high > low else 0.0
        block = BLOCKS[round(share * (len(BLOCKS) - 1))]
        line.append(block, style="red" if is_late else "cyan")
    return line


def _head(state: RunState, now_s: float) -> Text:
    record, facts = state.record, state.facts
    assert record is not None
    age_s = max(now_s - record.at_s, 0.0)
    head = Text.assemble(
        (facts.application, "bold"),
        f"  {facts.policy or 'policy unknown'}",
        ("  advises only" if record.mode == "advise" else "", "yellow"),
        f"  step {record.measurement.step}",
    )
    if age_s > max(5.0 * state.step_s, 5.0):
        head.append(f"  no step since {clock(record.at_s, now_s)}", style="red")
    else:
        head.append("  live", style="green")
    return head


def _figures(state: RunState, view: View, width: int) -> Table:
    columns = max(width - _LABELS, _FEWEST_BLOCKS)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(justify="right")
    grid.add_column(style="dim")
    grid.add_column(no_wrap=True)
    for figure in figures_of(state, view):
        words = Text(FORMATS[figure.format](figure.value), _MOODS[figure.mood])
        values, limit = _drawn(state, figure.name)
        late = [value is not None and limit is not None and value > limit for value in values]
        grid.add_row(
            figure.title.lower(), words, _note(state, figure), sparkline(values, late, columns)
        )
    return grid


def _note(state: RunState, figure: GlanceFigure) -> str:
    if figure.total is None or figure.value is None:
        return figure.note
    if figure.out_of is not None:
        return f"of {number(figure.out_of)}"
    points = state.points
    return f"since {clock(points[0].at_s, points[-1].at_s)}, {figure.note}"


def _drawn(state: RunState, name: str) -> tuple[Sequence[float | None], float | None]:
    """The line beside a figure, and the limit above which it is red."""
    metric = state.catalogue[name]
    glance = metric.glance
    if glance is None or glance.curve is None:
        return (), None
    chosen = [curve for curve in metric.curves if fnmatch(curve.key, glance.curve)]
    lines = [values_in_force(metric, curve, state.points) for curve in chosen]
    merged = [
        next((value for value in values if value is not None), None)
        for values in zip(*lines, strict=True)
    ]
    return merged, glance.limit(state.facts)


def _alternatives(latest: Latest, chosen: CostTerms) -> Table:
    grid = Table(box=None, pad_edge=False, title="Rejected", title_justify="left")
    for name in ("configuration", "latency", "resource", "switching", "cost", "more"):
        grid.add_column(name, justify="left" if name == "configuration" else "right")
    for each in latest.alternatives:
        cost = each.cost
        terms = (cost.latency, cost.resource, cost.switching, cost.total)
        more = cost.total - chosen.total
        cells = (f"{term:.3f}" for term in terms)
        grid.add_row(place(each.configuration), *cells, f"{more:+.3f}")
    return grid


def _hosts(hosts: tuple[HostView, ...]) -> Text | None:
    if not hosts:
        return None
    line = Text("agents  ", style="bold")
    for host in hosts:
        style = _CONDITIONS.get(host.condition, "yellow")
        line.append(f"{host.name} {host.condition}  ", style=style)
    return line


def _decisions(state: RunState) -> Table:
    grid = Table(box=None, pad_edge=False, show_header=False, title="Decisions")
    grid.title_justify = "left"
    grid.add_column(style="dim", no_wrap=True)
    grid.add_column(overflow="fold")
    for entry in reversed(state.decisions.entries[-_DECISIONS:]):
        held = entry.before == entry.requested
        words = escape(entry.words)
        for event in entry.events:
            style = _SEVERITIES[event.severity]
            words += f"\n[{style}]{escape(event.words)}[/{style}]"
        times = f"\n[dim]{entry.times} steps[/dim]" if entry.times > 1 else ""
        grid.add_row(clock(entry.at_s, entry.last_at_s), words + times, style="dim" if held else "")
    return grid
