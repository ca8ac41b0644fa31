"""What charts show of one step, and a history of such points that never outgrows its bounds.

Counts are running totals, so that the difference of two points is what happened between them,
however many points in between were thinned out.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class StepPoint:
    """One step in a few figures."""

    at_s: float
    step: int
    age_s: float
    """How long before the step the time is that its arrivals were counted over."""
    worst: float | None
    """Its latency: of neighbours the step with the highest is kept."""
    values: Mapping[str, float]
    """By the key of a curve, or the name of a counter; what is not known is not in it."""


class History:
    """The latest points, oldest first: those of a window, and no more than `most_points`."""

    def __init__(self, window_s: float | None, most_points: int) -> None:
        """`window_s`: how far back from the newest point; None: all, ever more thinly."""
        if most_points < 2:
            raise ValueError(f"most_points must be at least 2, got {most_points}")
        self._window_s = window_s
        self._most_points = most_points
        self._points: list[StepPoint] = []

    def __len__(self) -> int:
        return len(self._points)

    @property
    def points(self) -> Sequence[StepPoint]:
        return self._points

    def add(self, point: StepPoint) -> None:
        points = self._points
        # A clock that was set back: what it showed before would lie in the future.
        while points and points[-1].at_s >= point.at_s:
            points.pop()
        points.append(point)
        if self._window_s is not None:
            oldest_s = point.at_s - self._window_s
            keep = next(index for index, each in enumerate(points) if each.at_s >= oldest_s)
            del points[:keep]
        if len(points) > self._most_points:
            half = max(len(points) // 2, 2)
            points[:half] = thinned(points[:half], (half + 1) // 2)

    def since(self, at_s: float, most: int) -> list[StepPoint]:
        """The points after a moment, thinned to `most` of them."""
        return thinned([point for point in self._points if point.at_s > at_s], most)


def thinned(points: Sequence[StepPoint], most: int) -> list[StepPoint]:
    """At most `most` of them: of neighbours the one with the highest latency stays, so that no
    violation vanishes from a chart."""
    if len(points) <= most:
        return list(points)
    size = -(-len(points) // most)
    groups = (points[start : start + size] for start in range(0, len(points), size))
    return [max(group, key=_badness) for group in groups]


def _badness(point: StepPoint) -> tuple[float, float]:
    return (-1.0 if point.worst is None else point.worst, point.at_s)
