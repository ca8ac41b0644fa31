"""What `foresight bench hft` shows while it runs: the last steps as a table that follows them.

Without a terminal there is nothing to redraw, so a line is printed now and then instead.
"""

from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

SHOWN_STEPS = 14
_LINE_EVERY_STEPS = 10
_BAR_CELLS = 20


class LiveView:
    """One policy at a time: its latest steps, with requested and observed side by side."""

    def __init__(self, console: Console, live: Live | None, target_s: float, peak: float) -> None:
        self._console = console
        self._live = live
        self._target_s = target_s
        self._peak_per_s = peak
        self._work = ""
        self._steps: deque[dict[str, Any]] = deque(maxlen=SHOWN_STEPS)
        self._begin_s: float | None = None
        self._seen = 0

    def begin(self, work: str) -> None:
        """Another piece of work begins."""
        self._work = work
        self._steps.clear()
        self._begin_s = None
        self._seen = 0
        if self._live is None:
            self._console.print(f"hft: {work}")
        else:
            self._live.update(self._drawn(), refresh=True)

    def step(self, policy: str, step: dict[str, Any]) -> None:
        """One control step of the running policy."""
        if self._begin_s is None:
            self._begin_s = float(step["at_s"])
        # Rates and latencies are known when a batch ends; in between the last ones are shown.
        before = self._steps[-1] if self._steps else {}
        for key in ("arrivals_per_s", "latency_s"):
            if step[key] is None:
                step = {**step, key: before.get(key)}
        self._steps.append(step)
        self._seen += 1
        if self._live is not None:
            self._live.update(self._drawn(), refresh=True)
        elif self._seen % _LINE_EVERY_STEPS == 0:
            self._console.print(f"{policy}: {self._line(step)}")

    def _drawn(self) -> Group:
        table = Table(title=self._work, title_justify="left", expand=False)
        for name in ("s", "quotes/s"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", width=_BAR_CELLS)
        for name in ("latency s", "executors", "GHz", "W"):
            table.add_column(name, justify="right", no_wrap=True)
        table.add_column("what happened", no_wrap=True)
        for step in self._steps:
            table.add_row(*self._cells(step))
        hint = "executors and GHz: requested, and running where it differs; W is the hosts' own"
        return Group(table, Text(hint, style="dim"))

    def _cells(self, step: dict[str, Any]) -> tuple[str | Text, ...]:
        arrivals, latency_s = step["arrivals_per_s"], step["latency_s"]
        late = latency_s is not None and latency_s > self._target_s
        cells = 0
        if arrivals is not None:
            cells = max(0, min(_BAR_CELLS, round(_BAR_CELLS * arrivals / self._peak_per_s)))
        requested_khz, observed_khz = step["frequency_khz"]
        return (
            f"{step['at_s'] - (self._begin_s or 0.0):.0f}",
            _text(arrivals, ",.0f"),
            Text("#" * cells, style="cyan"),
            Text(_text(latency_s, ".2f"), style="bold red" if late else ""),
            _pair(*step["executors"]),
            _pair(f"{requested_khz / 1e6:.1f}", f"{observed_khz / 1e6:.1f}"),
            _text(step["power_w"], ".0f"),
            Text(", ".join(_counted(step["events"])), overflow="ellipsis"),
        )

    def _line(self, step: dict[str, Any]) -> str:
        return (
            f"{_text(step['arrivals_per_s'], ',.0f')} quotes/s, "
            f"latency {_text(step['latency_s'], '.2f')} s, "
            f"{step['executors'][1]} executors at {step['frequency_khz'][1] / 1e6:.1f} GHz, "
            f"{_text(step['power_w'], '.0f')} W"
        )


@contextmanager
def live_view(target_s: float, peak_per_s: float) -> Iterator[LiveView]:
    """On standard error, as everything that is not a result."""
    console = Console(stderr=True, highlight=False)
    if not console.is_terminal:
        yield LiveView(console, None, target_s, peak_per_s)
        return
    with Live(console=console, transient=True, auto_refresh=False) as live:
        yield LiveView(console, live, target_s, peak_per_s)


def _counted(events: list[str]) -> list[str]:
    """Each kind once, with how often it happened."""
    times = {kind: events.count(kind) for kind in dict.fromkeys(events)}
    return [
        kind.replace("_", " ") + (f" x{number}" if number > 1 else "")
        for kind, number in times.items()
    ]


def _pair(requested: object, observed: object) -> str:
    return f"{requested}" if requested == observed else f"{requested} ({observed})"


def _text(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
