"""The lines of charts from the points of a history: where values stand, and where a line breaks.

What a batch reports stands at the time it belongs to and is joined to the next value, unless they
lie much farther apart than their neighbours do (`forecasting/sparse.py`). Everything else breaks
off where it is not known and where steps are missing, by the same rule.
"""

from collections.abc import Iterable, Sequence
from itertools import islice

from forecasting.sparse import NEIGHBOURS, held, reaches
from runtime.metrics.metric import Catalogue, Curve, Metric
from runtime.metrics.points import StepPoint
from runtime.metrics.view import View
from runtime.report.charts import Pair, Polyline

_TAIL = NEIGHBOURS + 1
"""Values whose joints a new value may still change."""


def lines_of(
    catalogue: Catalogue, points: Sequence[StepPoint], step_s: float
) -> dict[str, Polyline]:
    """By the key of a curve, and by name the running totals of counters."""
    return {key: _joined(pairs, times, step_s) for key, pairs, times in _pairs(catalogue, points)}


def tails_of(
    catalogue: Catalogue, points: Sequence[StepPoint], step_s: float
) -> dict[str, Polyline]:
    """The ends of the lines: they replace what a page has from the time of their first pair on.

    One that begins with None is not joined to what is before it; of others the joint stays.
    """
    found = _pairs(catalogue, points, 2 * _TAIL)
    return {key: _end(_joined(pairs, times, step_s), times) for key, pairs, times in found}


def ahead_of(catalogue: Catalogue, view: View) -> dict[str, list[Pair]]:
    """What curves will be, as far as it is planned or expected."""
    found = {
        curve.key: [
            (view.record.at_s + index * view.step_s, value)
            for index, value in enumerate(curve.ahead(view))
            if value is not None
        ]
        for _, curve in catalogue.curves
        if curve.ahead is not None
    }
    return {key: pairs for key, pairs in found.items() if pairs}


def last_values(catalogue: Catalogue, points: Sequence[StepPoint]) -> dict[str, float]:
    """The last value of every curve, as long as the next one is not overdue."""
    return {
        curve.key: value
        for metric, curve in catalogue.curves
        if points and (value := values_in_force(metric, curve, points)[-1]) is not None
    }


def values_in_force(
    metric: Metric, curve: Curve, points: Sequence[StepPoint]
) -> Sequence[float | None]:
    """One value a point; what a batch reports holds until the next is overdue."""
    values = [point.values.get(curve.key) for point in points]
    return held(values) if _is_sparse(metric, curve) else values


def _is_sparse(metric: Metric, curve: Curve) -> bool:
    return metric.by_batch and curve.take is None


def _pairs(
    catalogue: Catalogue, points: Sequence[StepPoint], enough: int | None = None
) -> Iterable[tuple[str, Polyline, Sequence[float]]]:
    """(time, value) of every line, ascending, with a None where it is not known unless it is
    sparse; and the times at which it could have been known. `enough`: the last of them.
    """
    last = points if enough is None else points[-enough:]
    times = [point.at_s for point in last]
    for metric, curve in catalogue.curves:
        if _is_sparse(metric, curve):
            reported = _reported(metric, curve, points, enough)
            yield curve.key, reported, [at_s for at_s, _ in reported]
        else:
            yield curve.key, [_pair(point, curve.key) for point in last], times
    for metric in catalogue.totals:
        yield metric.name, [_pair(point, metric.name) for point in last], times


def _reported(
    metric: Metric, curve: Curve, points: Sequence[StepPoint], enough: int | None
) -> list[Pair]:
    """What batches reported, at the times it belongs to."""
    known = (
        (point.at_s - (point.age_s if metric.aged else 0.0), point.values[curve.key])
        for point in reversed(points)
        if curve.key in point.values
    )
    return sorted(islice(known, enough))


def _pair(point: StepPoint, key: str) -> Pair | None:
    return (point.at_s, point.values[key]) if key in point.values else None


def _joined(
    pairs: Sequence[Pair | None], times: Sequence[float], step_s: float
) -> list[Pair | None]:
    """With a None between two that are too far apart, and one at most."""
    reach = dict(zip(times, reaches([at_s / step_s for at_s in times]), strict=True))
    result: list[Pair | None] = []
    for pair in pairs:
        before = result[-1] if result else None
        if before is not None and (pair is None or pair[0] - before[0] > reach[before[0]] * step_s):
            result.append(None)
        if pair is not None:
            result.append(pair)
    return result


def _end(line: list[Pair | None], times: Sequence[float]) -> list[Pair | None]:
    if len(times) <= _TAIL:
        return line
    first = next(
        (i for i, pair in enumerate(line) if pair is not None and pair[0] >= times[-_TAIL]), None
    )
    if first is None:
        return []
    if first == 0:
        return [None, *line]
    return line[first - 1 :] if line[first - 1] is None else line[first:]
