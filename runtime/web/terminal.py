"""The state at a glance in a terminal: the figures of the page, with a line of blocks for each."""

from collections.abc import Callable, Sequence

from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table
from rich.text import Text

from forecasting.sparse import held
from mpc.values import Configuration
from runtime.metrics.hosts import HostView
from runtime.metrics.points import Point
from runtime.metrics.state import RunState
from runtime.report.words import clock, number, place, seconds

BLOCKS = "▁▂▃▄▅▆▇█"
_DECISIONS = 6
_LABELS = 46
"""Columns in front of a line of blocks."""
_FEWEST_BLOCKS = 10
_CONDITIONS = {"controlled": "green", "watched": "green", "recovered": "green", "lost": "red"}


def screen(state: RunState, now_s: float, width: int) -> RenderableType:
    """Everything, for a terminal of so many columns."""
    latest = state.latest()
    if latest is None:
        return Text(f"{state.facts.application}: no step yet", style="dim")
    parts: list[RenderableType] = [_head(state, now_s), _figures(state, width)]
    if latest.alternatives and latest.cost is not None:
        parts.append(_alternatives(state))
    hosts = _hosts(state.told_hosts)
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


def _figures(state: RunState, width: int) -> Table:
    points = state.points
    last, first = points[-1], points[0]
    target_s = state.facts.target_latency_s
    columns = max(width - _LABELS, _FEWEST_BLOCKS)
    grid = Table.grid(padding=(0, 2))
    grid.add_column(style="bold")
    grid.add_column(justify="right")
    grid.add_column(style="dim")
    grid.add_column(no_wrap=True)

    def row(name: str, value: str, note: str, values: Sequence[float | None]) -> None:
        grid.add_row(name, value, note, sparkline(values, [False] * len(values), columns))

    arrivals_per_s = held([point.arrivals_per_s for point in points])
    latencies_s = held([point.latency_s for point in points])
    latency_s = latencies_s[-1]
    latency = Text("-" if latency_s is None else seconds(latency_s))
    if latency_s is not None and target_s is not None:
        latency.stylize("red" if _is_late(latency_s, target_s) else "green")
    row("arrivals", _per_s(arrivals_per_s[-1]), _next(state), arrivals_per_s)
    grid.add_row(
        "latency",
        latency,
        "target unknown" if target_s is None else f"target {seconds(target_s)}",
        sparkline(latencies_s, [_is_late(each, target_s) for each in latencies_s], columns),
    )
    executors = [point.observed.executors for point in points]
    row("executors", *_stages(last, lambda c: str(c.executors)), executors)
    row(
        "frequency",
        *_stages(last, lambda c: f"{c.frequency_khz / 1e6:.2f}", " GHz"),
        [point.observed.frequency_khz for point in points],
    )
    power = "-" if last.power_w is None else f"{number(last.power_w)} W"
    source = last.power_source if last.power_w else "not known"
    row("power", power, source, [point.power_w for point in points])
    steps, late_steps = last.steps - first.steps, last.late_steps - first.late_steps
    if target_s is not None and steps:
        grid.add_row("late steps", number(late_steps), f"of {number(steps)}", "")
    energy_j = last.energy_j - first.energy_j
    if energy_j > 0:
        over = f"since {clock(first.at_s, last.at_s)}"
        grid.add_row("energy", f"{number(energy_j / 1e3)} kJ", over, "")
    return grid


def _is_late(latency_s: float | None, target_s: float | None) -> bool:
    return latency_s is not None and target_s is not None and latency_s > target_s


def _stages(last: Point, words: Callable[[Configuration], str], unit: str = "") -> tuple[str, str]:
    observed = f"{words(last.observed)}{unit}"
    return observed, f"requested {words(last.requested)}, plan {words(last.planned)}"


def _next(state: RunState) -> str:
    latest = state.latest()
    return "" if latest is None or not latest.fan else f"next {_per_s(latest.fan[0].per_s)}"


def _per_s(value: float | None) -> str:
    return "-" if value is None else f"{number(value)}/s"


def _alternatives(state: RunState) -> Table:
    latest = state.latest()
    assert latest is not None and latest.cost is not None
    grid = Table(box=None, pad_edge=False, title="Rejected", title_justify="left")
    for name in ("configuration", "latency", "resource", "switching", "cost", "more"):
        grid.add_column(name, justify="left" if name == "configuration" else "right")
    for each in latest.alternatives:
        cost = each.cost
        terms = (cost.latency, cost.resource, cost.switching, cost.total)
        more = cost.total - latest.cost.total
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
            words += f"\n[yellow]{escape(event.words)}[/yellow]"
        times = f"\n[dim]{entry.times} steps[/dim]" if entry.times > 1 else ""
        grid.add_row(clock(entry.at_s, entry.last_at_s), words + times, style="dim" if held else "")
    return grid
