"""Series of which only some steps are known, as when a value is reported at the end of a batch.

A value may be reported some steps after the one it belongs to. Between two of them the series is on
the straight line from one to the other, unless they lie much farther apart than their neighbours
do: then nobody knows what was between them. For what people look at; forecasts have `late.py`.
"""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from statistics import median_high

import numpy as np

from forecasting.contract import FloatArray

USUAL_GAPS = 3.5
"""How many times their usual distance two values may lie apart for one to lead to the other."""
NEIGHBOURS = 5
"""On each side of a value, the distances that are its usual ones: in an overload batches take
longer, and an idle stream is reported at every step."""


def where_they_belong(
    values: Sequence[float | None], age_steps: Sequence[int | None]
) -> dict[int, float]:
    """Known values by the index they belong to, ascending; those of before the first are below 0.

    Of two for the same index the one that was reported later counts.
    """
    reported = {
        index - (age or 0): value
        for index, (value, age) in enumerate(zip(values, age_steps, strict=True))
        if value is not None
    }
    return dict(sorted(reported.items()))


def reaches(places: Sequence[float]) -> list[float]:
    """How far from each value the next one may be; `places` ascend, one step is 1."""
    gaps = [after - before for before, after in pairwise(places)]
    around = (gaps[max(index - NEIGHBOURS, 0) : index + NEIGHBOURS] for index in range(len(places)))
    return [USUAL_GAPS * max(median_high(near or [1.0]), 1.0) for near in around]


def bridged(reported: Mapping[int, float], steps: int) -> tuple[float | None, ...]:
    """The series at 0 to `steps` - 1; None before the first value, after the last and in gaps that
    are too long. `reported` ascends."""
    places = list(reported)
    line = without_gaps(reported, steps)
    is_known = np.isin(np.arange(steps), places)
    for (before, after), reach in zip(pairwise(places), reaches(places), strict=False):
        if after - before <= reach:
            is_known[max(before, 0) : max(after, 0)] = True
    return tuple(
        float(value) if known else None for value, known in zip(line, is_known, strict=True)
    )


def without_gaps(reported: Mapping[int, float], steps: int) -> FloatArray:
    """The series at 0 to `steps` - 1: every gap is bridged, and at the ends the nearest value
    holds; 0 where nothing was ever reported. `reported` ascends."""
    if not reported:
        return np.zeros(steps)
    line = np.interp(np.arange(steps), list(reported), list(reported.values()))
    return np.asarray(line, dtype=np.float64)


def held(values: Sequence[float | None]) -> tuple[float | None, ...]:
    """Every value until the next one, but no farther than one may lead to another."""
    places = [index for index, value in enumerate(values) if value is not None]
    result: list[float | None] = [None] * len(values)
    ends = [*places, len(values)][1:]
    for place, end, reach in zip(places, ends, reaches(places), strict=True):
        until = min(end, place + int(reach) + 1)
        result[place:until] = [values[place]] * (until - place)
    return tuple(result)
