"""The charts of a report: one run with what was expected, asked for and observed, or two runs."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from forecasting.sparse import bridged, where_they_belong
from mpc.values import Configuration
from runtime.control.journal import StepRecord
from runtime.insight.journals import RecordedRun
from runtime.insight.summary import powers, step_of, target_of
from runtime.report.figures import figure, read_out
from runtime.report.markup import Markup, element, join
from runtime.report.panel import Line, Panel
from runtime.report.text import latency_unit

Value = TypeVar("Value")
Values = tuple[float | None, ...]
COLOURS = ("blue", "vermillion")


def charts(runs: Sequence[RecordedRun], names: Sequence[str]) -> Markup:
    """A figure for each quantity, over the time since the first step."""
    step_s = step_of(runs[0].start(runs[0].records[-1]))
    shown = _one(runs[0]) if len(runs) == 1 else _two(runs, names)
    figures = [figure(panel, step_s, _remark(panel)) for panel in shown]
    legend = element(
        "p",
        *(
            element("span", element("span", class_=f"swatch bg-{colour}"), name)
            for name, colour in zip(names, COLOURS, strict=False)
        ),
        class_="legend",
    )
    data = element("script", read_out(shown, step_s), type="application/json", id="read-out")
    return join([*([legend] if len(runs) > 1 else []), *figures, data])


def by_step(
    records: Sequence[StepRecord], value: Callable[[StepRecord], Value | None]
) -> tuple[Value | None, ...]:
    """One value a step, None for steps that nobody measured."""
    steps = [record.measurement.step for record in records]
    rising = all(low < high for low, high in pairwise(steps))
    if not rising or steps[-1] - steps[0] > 10 * len(steps):
        return tuple(value(record) for record in records)
    found = {record.measurement.step: value(record) for record in records}
    return tuple(found.get(step) for step in range(steps[0], steps[-1] + 1))


def _one(run: RecordedRun) -> list[Panel]:
    records = run.records
    arrived = _arrived(run)
    lines = (
        Line("came", "quiet", arrived),
        Line("expected", "blue", _expected(records), strong=True),
    )
    asked, ran = "vermillion", "blue"
    return [
        Panel(
            "arrivals", "Arrivals", "items per second", "measured", lines, arrived, from_zero=True
        ),
        _latency(run, [Line("latency", ran, _latencies(run, run), True)]),
        Panel(
            "executors",
            "Executors",
            "running",
            "measured",
            (
                Line("asked for", asked, by_step(records, lambda r: r.applied.requested.executors)),
                Line(
                    "ran",
                    ran,
                    by_step(records, lambda r: r.measurement.observed.executors),
                    strong=True,
                ),
            ),
            stepped=True,
            from_zero=True,
        ),
        Panel(
            "frequency",
            "Frequency",
            "GHz",
            "measured",
            (
                Line(
                    "asked for",
                    asked,
                    by_step(records, lambda r: r.applied.requested.frequency_khz / 1e6),
                ),
                Line(
                    "ran",
                    ran,
                    by_step(records, lambda r: r.measurement.observed.frequency_khz / 1e6),
                    strong=True,
                ),
            ),
            stepped=True,
        ),
        *_power([run], ["power"]),
    ]


def _two(runs: Sequence[RecordedRun], names: Sequence[str]) -> list[Panel]:
    def lines(values: Callable[[RecordedRun], Values]) -> tuple[Line, ...]:
        return tuple(
            Line(name, colour, values(run))
            for run, name, colour in zip(runs, names, COLOURS, strict=True)
        )

    def observed(value: Callable[[Configuration], float]) -> tuple[Line, ...]:
        return lines(lambda run: by_step(run.records, lambda r: value(r.measurement.observed)))

    return [
        Panel(
            "arrivals",
            "Arrivals",
            "items per second",
            "measured",
            lines(_arrived),
            from_zero=True,
        ),
        _latency(runs[0], lines(lambda run: _latencies(run, runs[0]))),
        Panel(
            "executors",
            "Executors",
            "running",
            "measured",
            observed(lambda place: place.executors),
            stepped=True,
            from_zero=True,
        ),
        Panel(
            "frequency",
            "Frequency",
            "GHz",
            "measured",
            observed(lambda place: place.frequency_khz / 1e6),
            stepped=True,
        ),
        *_power(runs, names),
    ]


def _latency(run: RecordedRun, lines: Sequence[Line]) -> Panel:
    target_s = target_of(run.start(run.records[-1]))
    unit, per_s = latency_unit(1.0 if target_s is None else target_s)
    threshold = None if target_s is None else target_s * per_s
    return Panel(
        "latency",
        "Latency",
        unit,
        "measured",
        tuple(lines),
        may_be_log=True,
        from_zero=True,
        threshold=threshold,
    )


def _latencies(run: RecordedRun, shown: RecordedRun) -> Values:
    """In the unit that suits the target of the run that is shown first."""
    target_s = target_of(shown.start(shown.records[-1]))
    _, per_s = latency_unit(1.0 if target_s is None else target_s)
    latency_s = by_step(run.records, lambda r: r.measurement.latency_s)
    told = where_they_belong(latency_s, [0] * len(latency_s))
    return bridged({step: value * per_s for step, value in told.items()}, len(latency_s))


def _arrived(run: RecordedRun) -> Values:
    """In the steps they came in, which is not where batches tell them."""
    step_s = step_of(run.start(run.records[-1]))
    per_s = by_step(run.records, lambda r: r.measurement.arrivals_per_s)
    age_steps = by_step(run.records, lambda r: r.measurement.arrivals_age_steps(step_s))
    return bridged(where_they_belong(per_s, age_steps), len(per_s))


def _power(runs: Sequence[RecordedRun], names: Sequence[str]) -> list[Panel]:
    lines, made, unit = [], "", "W"
    for run, name, colour in zip(runs, names, COLOURS, strict=False):
        power_w, made = powers(run.records, run.start(run.records[-1]))
        lines.append(Line(name, colour, _placed(run.records, power_w)))
        unit = "share" if "share" in made else "W"
    if not any(value is not None for line in lines for value in line.values):
        return []
    return [Panel("power", "Power", unit, made, tuple(lines), stepped=True, from_zero=True)]


def _placed(records: Sequence[StepRecord], values: Sequence[float | None]) -> Values:
    at = {id(record): value for record, value in zip(records, values, strict=True)}
    return by_step(records, lambda record: at[id(record)])


def _expected(records: Sequence[StepRecord]) -> Values:
    """What the decision before had expected for the step."""
    rates: dict[int, float] = {}
    for record in records:
        expected = record.decision.expected_arrivals_per_s
        if expected is not None and len(expected):
            rates[record.measurement.step + 1] = float(expected[0])
    return by_step(records, lambda r: rates.get(r.measurement.step))


def _remark(panel: Panel) -> str:
    match panel.key:
        case "arrivals" if panel.background is not None:
            return (
                "The line is what had been expected one step before. Means over a batch stand in "
                "the middle of the time they were counted over."
            )
        case "latency":
            return "Straight from result to result; a gap is much longer than they usually take."
        case _:
            return ""
