"""The tables of the report: SASO properties, foresight against each policy, published figures."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from benchmarks.mpc_paper.published import PublishedFigure
from benchmarks.report.colours import family_colour
from benchmarks.report.findings import OWN, Rivalry
from benchmarks.report.statistics import Estimate, PolicyRuns
from benchmarks.results import Row
from runtime.report.markup import Markup, element, join
from runtime.report.text import MISSING, NBSP, count, fixed, latency_unit, signed, significant


@dataclass(frozen=True, slots=True)
class MeasureColumn:
    """One measure; `written` makes its text, for the mean and for its interval."""

    title: str
    unit: str
    measure: Callable[[Row], float | None]
    written: Callable[[float | None], str]


@dataclass(frozen=True, slots=True)
class ColumnGroup:
    """Columns that tell of the same property."""

    title: str
    columns: tuple[MeasureColumn, ...]


def _decimals(number: int) -> Callable[[float | None], str]:
    return lambda value: fixed(value, number)


def saso_groups(threshold_s: float) -> tuple[ColumnGroup, ...]:
    """The properties as the paper measures them: sections 2.1 and 5.3.1 to 5.3.4 of De Matteis and
    Mencagli 2016.
    """
    unit, per_s = latency_unit(threshold_s)
    return (
        ColumnGroup(
            "Stability",
            (MeasureColumn("reconfigurations", "", lambda row: row.reconfigurations, count),),
        ),
        ColumnGroup(
            "Accuracy",
            (MeasureColumn("violations", "", lambda row: row.violations, count),),
        ),
        ColumnGroup(
            "Overshoot",
            (
                MeasureColumn("executors", "mean", lambda row: row.mean_executors, _decimals(2)),
                MeasureColumn("power", "W", lambda row: row.mean_power_w, _decimals(2)),
                MeasureColumn("energy", "kJ", lambda row: row.energy_j / 1e3, _decimals(2)),
            ),
        ),
        ColumnGroup(
            "Settling", (MeasureColumn("amplitude", "", lambda row: row.amplitude, _decimals(3)),)
        ),
        ColumnGroup(
            "Latency of results",
            (
                MeasureColumn("mean", unit, lambda row: row.latency_mean_s * per_s, significant),
                MeasureColumn("p95", unit, lambda row: row.latency_p95_s * per_s, significant),
                MeasureColumn("p99", unit, lambda row: row.latency_p99_s * per_s, significant),
            ),
        ),
        ColumnGroup(
            "Decision time",
            (
                MeasureColumn("p50", "ms", lambda row: row.decision_ms_p50, significant),
                MeasureColumn("p99", "ms", lambda row: row.decision_ms_p99, significant),
            ),
        ),
    )


def saso_table(policies: Sequence[PolicyRuns], threshold_s: float) -> Markup:
    properties = saso_groups(threshold_s)
    groups = [element("td")]
    titles = [element("th", "policy", scope="col")]
    for group in properties:
        groups.append(
            element("th", group.title, scope="colgroup", colspan=len(group.columns), class_="group")
        )
        for index, column in enumerate(group.columns):
            unit = [element("span", column.unit, class_="unit")] if column.unit else []
            titles.append(
                element(
                    "th",
                    *_spaced(column.title, *unit),
                    scope="col",
                    class_="number first" if index == 0 else "number",
                )
            )
    return _table(
        element("thead", element("tr", *groups), element("tr", *titles)),
        [_saso_row(policy, properties) for policy in policies],
        "saso",
    )


def _saso_row(policy: PolicyRuns, properties: Sequence[ColumnGroup]) -> Markup:
    cells = [_policy_name(policy.policy)]
    for group in properties:
        for index, column in enumerate(group.columns):
            cells.append(
                element(
                    "td",
                    *_estimate(policy.estimate(column.measure), column.written),
                    class_="number first" if index == 0 else "number",
                )
            )
    return element("tr", *cells, class_="own" if policy.policy == OWN else None)


def _estimate(estimate: Estimate, written: Callable[[float | None], str]) -> list[str]:
    if estimate.half_width is None:
        return [written(estimate.mean)]
    interval = f"± {significant(estimate.half_width, 2)}"
    return _spaced(written(estimate.mean), element("span", interval, class_="interval"))


_TRADE = ("violations", "power W", "reconfigurations")


def rivalry_table(rivalries: Sequence[Rivalry]) -> Markup:
    head = element(
        "thead",
        element(
            "tr",
            element("td"),
            element("th", "the policy", scope="colgroup", colspan=3, class_="group"),
            element("th", "foresight", scope="colgroup", colspan=4, class_="group"),
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
    cells = [
        _policy_name(policy.policy),
        _cell(count(policy.violations)),
        _cell(fixed(policy.mean_power_w, 2)),
        _cell(count(policy.reconfigurations)),
    ]
    if point is None:
        words = "no alpha has so few violations with so little power"
        cells.append(element("td", words, colspan=4, class_="missed"))
    else:
        more = point.reconfigurations > policy.reconfigurations
        cells += [
            _cell(f"{point.alpha:g}"),
            _cell(count(point.violations)),
            _cell(fixed(point.mean_power_w, 2)),
            _cell(count(point.reconfigurations), " worse" if more else ""),
        ]
    verdict = "yes" if rivalry.outdone else "no"
    cells.append(
        element("td", verdict, class_=f"verdict {'within' if rivalry.outdone else 'outside'}")
    )
    return element("tr", *cells)


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


def _head(title: str) -> Markup:
    return element("th", title, scope="col", class_="number")


def _cell(text: str, classes: str = "") -> Markup:
    return element("td", text, class_=f"number{classes}")


def _spaced(*parts: str) -> list[str]:
    return [join(list(parts), " ")]
