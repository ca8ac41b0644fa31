"""The charts of a report: those of the page for one run, and for two runs one line each.

Lines are taken from the records by the same declarations as on the page.
"""

from collections.abc import Sequence
from dataclasses import replace

from runtime.control.journal import StepRecord
from runtime.insight.journals import RecordedRun
from runtime.insight.summary import powers
from runtime.metrics.catalogue import CATALOGUE
from runtime.metrics.facts import Facts, facts_of
from runtime.metrics.lines import lines_of
from runtime.metrics.metric import Catalogue
from runtime.metrics.state import RunState
from runtime.report.charts import MOST_PAIRS, Chart, ChartLine, Drawing, Pair, Polyline

COLOURS = ("blue", "vermillion")
_REMARKS = {
    "arrivals": "What was expected is of one step before. Means over a batch stand in the middle "
    "of the time they were counted over.",
    "latency": "Straight from result to result; a gap is much longer than they usually take.",
}


def drawing_of(
    runs: Sequence[RecordedRun], names: Sequence[str], catalogue: Catalogue = CATALOGUE
) -> Drawing:
    """One run at the times of its steps, or two since their first steps."""
    first = runs[0]
    charts = [_as_printed(chart, first) for chart in catalogue.drawn_charts(_facts(first))]
    if len(runs) == 1:
        span = (first.records[0].at_s, max(first.records[-1].at_s, first.records[0].at_s + 1.0))
        lines = _lines(first, catalogue)
        return Drawing(charts=_with_lines(charts, lines), lines=lines, span=span, clock=True)
    own = [_lines(run, catalogue) for run in runs]
    lines = {}
    compared = []
    for chart in charts:
        main = [curve for _, curve in catalogue.curves if curve.chart == chart.id and curve.main]
        shown = []
        for run, name, colour, found in zip(runs, names, COLOURS, own, strict=True):
            key = f"{chart.id}/{name}"
            lines[key] = _shifted([found[curve.key] for curve in main], run.records[0].at_s)
            shown.append(ChartLine(key, name, colour, any(curve.stepped for curve in main)))
        compared.append(replace(chart, lines=tuple(shown), band=None, marks=None, remark=""))
    longest_s = max(run.records[-1].at_s - run.records[0].at_s for run in runs)
    return Drawing(
        charts=_with_lines(compared, lines), lines=lines, span=(0.0, max(longest_s, 1.0))
    )


def _lines(run: RecordedRun, catalogue: Catalogue) -> dict[str, Polyline]:
    state = RunState(_facts(run), None, max(len(run.records), 2), catalogue)
    for record in _with_power(run):
        state.add(record)
    return lines_of(catalogue, state.history.since(float("-inf"), MOST_PAIRS), state.step_s)


def _facts(run: RecordedRun) -> Facts:
    start = run.start(run.records[-1])
    name = run.folder.name
    return Facts(application=name) if start is None else facts_of(start.config, name, start.space)


def _with_power(run: RecordedRun) -> list[StepRecord]:
    """Where no watts are known, with the modelled shares of the full power."""
    power_w, _ = powers(run.records, run.start(run.records[-1]))
    return [
        record
        if record.measurement.power_w is not None or value is None
        else replace(
            record,
            measurement=replace(record.measurement, power_w=value, power_source="modelled"),
        )
        for record, value in zip(run.records, power_w, strict=True)
    ]


def _as_printed(chart: Chart, run: RecordedRun) -> Chart:
    """Peaks are not cut off, as there is no way to look closer."""
    _, source = powers(run.records, run.start(run.records[-1]))
    shares = chart.id == "power" and "share" in source
    return replace(
        chart,
        cap=None,
        logarithmic=chart.id == "latency",
        note=source if shares else chart.note,
        remark=_REMARKS.get(chart.id, ""),
    )


def _with_lines(charts: Sequence[Chart], lines: dict[str, Polyline]) -> tuple[Chart, ...]:
    """Without charts that have nothing to show."""
    return tuple(
        chart for chart in charts if any(any(lines.get(line.key, ())) for line in chart.lines)
    )


def _shifted(lines: Sequence[Polyline], began_s: float) -> Polyline:
    """Lines of the same quantity as one, since a moment."""
    if len(lines) == 1:
        return [None if pair is None else _since(pair, began_s) for pair in lines[0]]
    return sorted(_since(pair, began_s) for line in lines for pair in line if pair is not None)


def _since(pair: Pair, began_s: float) -> Pair:
    return pair[0] - began_s, pair[1]
