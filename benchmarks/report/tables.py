"""The tables of the report: SASO properties, foresight against each policy, published figures."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.mpc_paper.published import PublishedFigure
from benchmarks.report.colours import family_colour
from benchmarks.report.findings import OWN, Rivalry
from benchmarks.results import CurvePoint
from benchmarks.statistics import Estimate, PolicyRuns
from runtime.report.markup import Markup, element, join
from runtime.report.text import MISSING, NBSP, count, fixed, latency_unit, signed, significant


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """One figure of the rows; `write` makes its text."""

    group: str
    """The property that it tells of."""
    title: str
    unit: str
    figure: str
    write: Callable[[float | None], str]
    factor: float = 1.0
    """From the unit of the figure to that of the column."""


def _two_decimals(value: float | None) -> str:
    return fixed(value, 2)


def _three_decimals(value: float | None) -> str:
    return fixed(value, 3)


def saso_columns(threshold_s: float) -> tuple[MeasureColumn, ...]:
    """The properties as the paper measures them: sections 2.1 and 5.3.1 to 5.3.4 of De Matteis and
    Mencagli 2016.
    """
    unit, per_s = latency_unit(threshold_s)
    latency = "Latency of results"
    return (
        MeasureColumn("Stability", "reconfigurations", "", "reconfigurations", count),
        MeasureColumn("Accuracy", "violations", "", "violations", count),
        MeasureColumn("Overshoot", "executors", "mean", "mean_executors", _two_decimals),
        MeasureColumn("Overshoot", "power", "W", "mean_power_w", _two_decimals),
        MeasureColumn("Overshoot", "energy", "kJ", "energy_j", _two_decimals, 1e-3),
        MeasureColumn("Settling", "amplitude", "", "amplitude", _three_decimals),
        MeasureColumn(latency, "mean", unit, "latency_mean_s", significant, per_s),
        MeasureColumn(latency, "p95", unit, "latency_p95_s", significant, per_s),
        MeasureColumn(latency, "p99", unit, "latency_p99_s", significant, per_s),
        MeasureColumn("Decision time", "p50", "ms", "decision_ms_p50", significant),
        MeasureColumn("Decision time", "p99", "ms", "decision_ms_p99", significant),
    )


def saso_table(policies: Sequence[PolicyRuns], threshold_s: float) -> Markup:
    columns = saso_columns(threshold_s)
    sizes = Counter(column.group for column in columns)
    classes = [
        "number" if before is not None and before.group == column.group else "number first"
        for before, column in zip((None, *columns), columns, strict=False)
    ]
    titles = [element("th", "policy", scope="col")]
    for column, class_ in zip(columns, classes, strict=True):
        unit = [element("span", column.unit, class_="unit")] if column.unit else []
        titles.append(element("th", *_spaced(column.title, *unit), scope="col", class_=class_))
    rows = []
    for policy in policies:
        cells = [_policy_name(policy.policy)]
        for column, class_ in zip(columns, classes, strict=True):
            estimate = policy.estimate(column.figure, column.factor)
            cells.append(element("td", *_estimate(estimate, column.write), class_=class_))
        rows.append(element("tr", *cells, class_="own" if policy.policy == OWN else None))
    groups = [_group(title, size) for title, size in sizes.items()]
    head = element("thead", element("tr", element("td"), *groups), element("tr", *titles))
    return _table(head, rows, "saso")


def _estimate(estimate: Estimate, write: Callable[[float | None], str]) -> list[str]:
    if estimate.half_width is None:
        return [write(estimate.mean)]
    interval = f"± {significant(estimate.half_width, 2)}"
    return _spaced(write(estimate.mean), element("span", interval, class_="interval"))


_TRADE = ("violations", "power W", "reconfigurations")


def rivalry_table(rivalries: Sequence[Rivalry]) -> Markup:
    head = element(
        "thead",
        element(
            "tr",
            element("td"),
            _group("the policy", 3),
            _group("foresight", 4),
        ),
        element(
            "tr",
            element("th", "policy", scope="col"),
            *(_head(title) for title in _TRADE),
            *(_head(title) for title in ("alpha", *_TRADE)),
            element("th", "outdone", scope="col"),
        ),
    )
    return _table(head, [_rivalry_row(rivalry) for rivalry in rivalries], "rivalry")


def _rivalry_row(rivalry: Rivalry) -> Markup:
    policy, point = rivalry.policy, rivalry.rival
    cells = [_policy_name(policy.policy), *_trade(policy)]
    if point is None:
        words = "no alpha has so few violations with so little power"
        cells.append(element("td", words, colspan=4, class_="missed"))
    else:
        more = point.reconfigurations > policy.reconfigurations
        cells += [_cell(f"{point.alpha:g}"), *_trade(point, " worse" if more else "")]
    verdict, class_ = ("yes", "within") if rivalry.outdone else ("no", "outside")
    return element("tr", *cells, element("td", verdict, class_=f"verdict {class_}"))


def _trade(measured: PolicyRuns | CurvePoint, classes: str = "") -> tuple[Markup, ...]:
    return (
        _cell(count(measured.violations)),
        _cell(fixed(measured.mean_power_w, 2)),
        _cell(count(measured.reconfigurations), classes),
    )


def published_table(figures: Sequence[PublishedFigure]) -> Markup:
    head = element(
        "thead",
        element(
            "tr",
            element("th", "figure", scope="col"),
            *(_head(title) for title in ("paper", "ours", "difference")),
            element("th", "tolerance", scope="col"),
            element("th", "source and note", scope="col"),
        ),
    )
    return _table(head, [_published_row(figure) for figure in figures], "published")


def _published_row(figure: PublishedFigure) -> Markup:
    # A mean over repetitions says more than the rounded figure it is held against.
    decimals = figure.decimals if figure.paper >= 1000 else max(figure.decimals, 1)
    unit = f"{NBSP}{figure.unit}" if figure.unit else ""
    points = f"{NBSP}points" if figure.unit == "%" else unit
    note = f" {figure.note}" if figure.note else ""
    return element(
        "tr",
        element("th", figure.name, scope="row"),
        _cell(f"{fixed(figure.paper, figure.decimals)}{unit}"),
        _cell(f"{fixed(figure.ours, decimals)}{unit}"),
        _cell(f"{signed(figure.difference, decimals)}{points}"),
        _verdict(figure, points),
        element("td", element("span", f"{figure.source}.", class_="source"), note, class_="note"),
    )


def _verdict(figure: PublishedFigure, unit: str) -> Markup:
    if figure.tolerance is None:
        return element("td", MISSING, class_="missed")
    word = "within" if figure.within else "outside"
    tolerance = f"{word} ± {fixed(figure.tolerance, 0)}{unit}"
    return element("td", tolerance, class_=f"verdict {word}")


def _table(head: Markup, rows: Sequence[Markup], kind: str) -> Markup:
    """In a box that scrolls sideways, so that a phone shows all of it."""
    body = element("tbody", *rows)
    return element("div", element("table", head, body, class_=kind), class_="scroll", tabindex=0)


def _policy_name(policy: str) -> Markup:
    swatch = element("span", class_=f"swatch bg-{family_colour(policy)}")
    return element("th", swatch, policy, scope="row")


def _group(title: str, columns: int) -> Markup:
    return element("th", title, scope="colgroup", colspan=columns, class_="group")


def _head(title: str) -> Markup:
    return element("th", title, scope="col", class_="number")


def _cell(text: str, classes: str = "") -> Markup:
    return element("td", text, class_=f"number{classes}")


def _spaced(*parts: str) -> list[str]:
    return [join(list(parts), " ")]
