"""What a chart shows of one step, and a history of such points that never outgrows its bounds.

Counts are running totals, so that the difference of two points is what happened between them,
however many points in between were thinned out.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from mpc.values import Configuration, CostTerms, PowerSource


@dataclass(frozen=True, slots=True)
class Point:
    """One step in a few figures."""

    at_s: float
    step: int
    arrivals_per_s: float | None
    arrivals_age_s: float
    """How long before this step they came."""
    expected_per_s: float | None
    """For this step, one step before it."""
    low_per_s: float | None
    high_per_s: float | None
    latency_s: float | None
    late: bool
    """Latency above the target."""
    planned: Configuration
    requested: Configuration
    observed: Configuration
    power_w: float | None
    power_source: PowerSource
    cost: CostTerms | None
    """Of the plan, over its horizon."""
    steps: int
    """Steps with a latency so far."""
    late_steps: int
    energy_j: float


class History:
    """The latest points, oldest first: those of a window, and no more than `most_points`."""

    def __init__(self, window_s: float | None, most_points: int) -> None:
        """`window_s`: how far back from the newest point; None: all, ever more thinly."""
        if most_points < 2:
            raise ValueError(f"most_points must be at least 2, got {most_points}")
        self._window_s = window_s
        self._most_points = most_points
        self._points: list[Point] = []

    def __len__(self) -> int:
        return len(self._points)

    @property
    def points(self) -> Sequence[Point]:
        return self._points

    def add(self, point: Point) -> None:
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

    def since(self, at_s: float, most: int) -> list[Point]:
        """The points after a moment, thinned to `most` of them."""
        return thinned([point for point in self._points if point.at_s > at_s], most)


def thinned(points: Sequence[Point], most: int) -> list[Point]:
    """At most `most` of them: of neighbours the one with the highest latency stays, so that no
    violation vanishes from a chart."""
    if len(points) <= most:
        return list(points)
    size = -(-len(points) // most)
    groups = (points[start : start + size] for start in range(0, len(points), size))
    return [max(group, key=_badness) for group in groups]


def _badness(point: Point) -> tuple[float, float]:
    return (-1.0 if point.latency_s is None else point.latency_s, point.at_s)
