"""A recorded run, or the difference of two, as one self-contained page: no network, nothing else.

The charts are those of the page, drawn by the same script.
"""

from collections.abc import Sequence
from operator import attrgetter

from runtime.insight.charts import drawing_of
from runtime.insight.journals import RecordedRun
from runtime.insight.summary import (
    RunSummary,
    limit_counts,
    quantile_of,
    reason_counts,
    summary,
    target_of,
    violations,
)
from runtime.report.document import document, place_of_charts
from runtime.report.markup import Markup, element
from runtime.report.text import (
    MISSING,
    fixed,
    moment,
    percent,
    plural,
    seconds,
    signed,
    significant,
)
from runtime.report.words import folded, place, why

MOST_STRETCHES = 10
MOST_EVENTS = 100
MOST_REASONS = 12


def render_report(run: RecordedRun, other: RecordedRun | None = None) -> str:
    runs = [run] if other is None else [run, other]
    names = [run.folder.name] if other is None else _names(run, other)
    figures = [summary(each) for each in runs]
    title = names[0] if other is None else f"{names[1]} against {names[0]}"
    body = [
        _header(title, runs, names, figures),
        element("section", element("h2", "In figures"), _figures(names, figures)),
        element("section", element("h2", "Step by step"), place_of_charts()),
    ]
    for each, name in zip(runs, names, strict=True):
        prefix = "" if other is None else f"{name}: "
        body.append(_stretches(each, prefix))
        body.append(_counts(each, prefix))
        body.append(_events(each, prefix))
    body.append(element("footer", element("p", "Written by foresight report.", class_="aside")))
    return document(f"{title}: foresight report", body, drawing_of(runs, names))


def _names(run: RecordedRun, other: RecordedRun) -> list[str]:
    if run.folder.name != other.folder.name:
        return [run.folder.name, other.folder.name]
    return ["first", "second"]


def _header(
    title: str,
    runs: Sequence[RecordedRun],
    names: Sequence[str],
    figures: Sequence[RunSummary],
) -> Markup:
    sources = ", ".join(dict.fromkeys(each.power_source for each in figures))
    badge = f"From the journal of a live controller; power: {sources}."
    terms: list[str] = []
    for run, name, each in zip(runs, names, figures, strict=True):
        start = run.start(run.records[-1])
        facts = [
            f"{moment(run.records[0].at_s)} to {moment(run.records[-1].at_s)}",
            f"{plural(each.figures.steps, 'step')} of {seconds(each.step_s)}",
        ]
        if start is not None:
            policy = "a policy of the application" if start.given_policy else start.config.policy
            facts += [policy, f"mode {start.config.mode}", f"version {start.version}"]
        if each.target_latency_s is not None:
            facts.append(f"target {seconds(each.target_latency_s)}")
        if run.torn_lines:
            facts.append(f"{plural(run.torn_lines, 'torn line')} passed over")
        terms += [element("dt", name), element("dd", ", ".join(facts))]
    return element(
        "header",
        element("p", badge, class_="badge"),
        element("h1", title),
        element("p", _sentence(names, figures), class_="summary"),
        element("dl", *terms),
    )


def _sentence(names: Sequence[str], summaries: Sequence[RunSummary]) -> str:
    first, last = summaries[0], summaries[-1]
    was, now = first.figures, last.figures
    if len(summaries) == 1:
        if first.violations is None:
            return f"{plural(was.steps, 'step')}; the journal does not say the target."
        changes = plural(was.changes.reconfigurations, "reconfiguration")
        return (
            f"{first.violations:,} of {plural(was.judged_steps, 'step')} were above the target "
            f"of {seconds(first.target_latency_s or 0.0)}, with {was.mean_executors:.2f} "
            f"executors on average and {changes}."
        )
    parts = []
    if first.violations is not None and last.violations is not None:
        shares = [each.violations / max(each.judged_steps, 1) for each in (was, now)]
        parts.append(f"{percent(shares[1])} violations against {percent(shares[0])}")
    if was.mean_power_w and now.mean_power_w and first.power_source == last.power_source:
        change = now.mean_power_w / was.mean_power_w - 1.0
        parts.append(f"{percent(abs(change))} {'less' if change < 0 else 'more'} power")
    counts = [each.changes.reconfigurations for each in (now, was)]
    parts.append(f"{counts[0]:,} against {counts[1]:,} reconfigurations")
    return f"{names[1]} beside {names[0]}: {', '.join(parts)}."


_ROWS = (
    ("violations", "Violations", "steps above the target", 0),
    ("figures.judged_steps", "Judged", "steps with a latency", 0),
    ("latency_mean_s", "Latency, mean", "s", 3),
    ("latency_p95_s", "Latency, 95th percentile", "s", 3),
    ("latency_p99_s", "Latency, 99th percentile", "s", 3),
    ("figures.mean_power_w", "Power, mean", "W", 2),
    ("figures.energy_j", "Energy", "J", 0),
    ("figures.mean_executors", "Executors, mean", "", 2),
    ("mean_frequency_ghz", "Frequency, mean", "GHz", 3),
    ("figures.changes.reconfigurations", "Reconfigurations", "", 0),
    ("figures.changes.executor_changes", "of executors", "", 0),
    ("figures.changes.frequency_changes", "of the frequency", "", 0),
    ("mean_arrivals_per_s", "Arrivals, mean", "items/s", 0),
    ("forecast_error", "Forecast error", "share of the mean rate, one step ahead", 3),
    ("stale_steps", "Stale", "steps in which arrivals were overdue", 0),
    ("took_p99_s", "Control, 99th percentile", "s, from when a step is due until applied", 4),
)


def _figures(names: Sequence[str], figures: Sequence[RunSummary]) -> Markup:
    titles = ["", *names, *(["difference"] if len(figures) == 2 else [])]
    in_shares = any("share" in each.power_source for each in figures)
    rows = []
    for name, label, unit, decimals in _ROWS:
        values = [attrgetter(name)(each) for each in figures]
        cells = [fixed(value, decimals) for value in values]
        if len(values) == 2:
            known = None not in values
            cells.append(signed(values[1] - values[0], decimals) if known else MISSING)
        shown = "share of the full power" if in_shares and unit == "W" else unit
        shown = "share x s" if in_shares and unit == "J" else shown
        words = [label, element("span", f" {shown}", class_="unit")] if shown else [label]
        rows.append([element("th", *words), *cells])
    return _table(titles, rows, numbers=(1, 2, 3))


def _stretches(run: RecordedRun, prefix: str) -> Markup:
    start = run.start(run.records[-1])
    target_s = target_of(start)
    title = element("h2", f"{prefix}Longest violations")
    found = [] if target_s is None else violations(run.records, target_s, quantile_of(start))
    if not found:
        words = "None." if target_s is not None else "The journal does not say the target."
        return element("section", title, element("p", words))
    rows = [
        (
            moment(stretch.first.at_s),
            f"{stretch.first.measurement.step:,}",
            f"{stretch.steps:,}",
            f"{significant(stretch.worst_latency_s)} s",
            place(stretch.first.measurement.observed),
            why(stretch.first),
        )
        for stretch in found[:MOST_STRETCHES]
    ]
    titles = ["began", "step", "steps", "worst", "ran on", "the first decision"]
    return element("section", title, _table(titles, rows, numbers=(1, 2, 3)))


def _counts(run: RecordedRun, prefix: str) -> Markup:
    def table(title: str, counted: Sequence[tuple[str, int]]) -> Markup:
        rows = [(words, f"{times:,}") for words, times in counted[:MOST_REASONS]]
        return _table([title, "steps"], rows, numbers=(1,))

    return element(
        "section",
        element("h2", f"{prefix}Why, and what limited it"),
        table("reason", reason_counts(run.records)),
        table("limit", limit_counts(run)),
    )


def _events(run: RecordedRun, prefix: str) -> Markup:
    events = folded(run.records)
    shown = events[-MOST_EVENTS:]
    rows = [(moment(event.last_at_s), event.words) for event in reversed(shown)]
    words = "Newest first; what repeats is folded."
    if len(events) > len(shown):
        words += f" The last {len(shown)} of {len(events):,}."
    return element(
        "section",
        element("h2", f"{prefix}Events"),
        element("p", words, class_="aside"),
        _table(["last", "what"], rows),
    )


def _table(
    titles: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()
) -> Markup:
    """`numbers`: the columns with figures. A cell that is markup already stays as it is."""

    def cells(name: str, texts: Sequence[str]) -> Markup:
        row = (
            text
            if isinstance(text, Markup)
            else element(name, text, class_="number" if column in numbers else None)
            for column, text in enumerate(texts)
        )
        return element("tr", *row)

    head = element("thead", cells("th", titles))
    body = element("tbody", *(cells("td", row) for row in rows))
    return element("div", element("table", head, body), class_="scroll")
