"""The view of a running benchmark: what a person sees of each step."""

import io
from typing import Any

from rich.console import Console
from rich.live import Live

from benchmarks.hft.live_view import LiveView


def step(at_s: float, **changed: Any) -> dict[str, Any]:
    return {
        "at_s": at_s,
        "arrivals_per_s": 5_000.0,
        "latency_s": 1.25,
        "power_w": 42.0,
        "executors": [3, 2],
        "frequency_khz": [2_000_000, 2_000_000],
        "reason": "test",
        "events": ["executor_started", "executor_started", "scaled_out"],
    } | changed


def console() -> Console:
    return Console(file=io.StringIO(), width=160, force_terminal=True, color_system=None)


def written(to: Console) -> str:
    assert isinstance(to.file, io.StringIO)
    return to.file.getvalue()


def test_a_terminal_shows_requested_and_observed_where_they_differ() -> None:
    to = console()
    with Live(console=to, auto_refresh=False) as live:
        view = LiveView(to, live, target_s=2.0, peak=10_000.0)
        view.begin("foresight")
        view.step("foresight", step(100.0))
        view.step("foresight", step(101.0, latency_s=None, arrivals_per_s=None, events=[]))
    text = written(to)
    assert "3 (2)" in text
    assert "2.0" in text
    assert "5,000" in text
    assert "##########" in text
    assert "executor started x2, scaled out" in text


def test_without_a_terminal_a_line_comes_now_and_then() -> None:
    to = Console(file=io.StringIO(), width=160)
    view = LiveView(to, None, target_s=2.0, peak=10_000.0)
    view.begin("foresight")
    for number in range(20):
        view.step("foresight", step(float(number)))
    lines = written(to).splitlines()
    assert lines == [
        "hft: foresight",
        *(["foresight: 5,000 quotes/s, latency 1.25 s, 2 executors at 2.0 GHz, 42 W"] * 2),
    ]
