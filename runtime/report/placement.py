"""Puts the names of points where they cover neither each other nor the drawing."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_DIRECTIONS = tuple(
    (math.cos(math.radians(angle)), math.sin(math.radians(angle)))
    for angle in (0, 180, -35, 35, -145, 145, -90, 90, -65, 65, -115, 115)
)
_DISTANCES_PX = (9.0, 17.0, 27.0, 40.0, 56.0, 76.0)
_LEADER_FROM_PX = 15.0


@dataclass(frozen=True, slots=True)
class Box:
    left: float
    top: float
    right: float
    bottom: float

    def overlap(self, other: "Box") -> float:
        wide = min(self.right, other.right) - max(self.left, other.left)
        high = min(self.bottom, other.bottom) - max(self.top, other.top)
        return wide * high if wide > 0 and high > 0 else 0.0

    def within(self, other: "Box") -> bool:
        return (
            self.left >= other.left
            and self.right <= other.right
            and self.top >= other.top
            and self.bottom <= other.bottom
        )


@dataclass(frozen=True, slots=True)
class Anchor:
    """A point that wants a name of this size."""

    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class Place:
    """Where a name goes; with a line to its point when it is not right beside it."""

    box: Box
    needs_leader: bool


def place_labels(anchors: Sequence[Anchor], obstacles: Sequence[Box], area: Box) -> list[Place]:
    """A place for every anchor, in their order: those named first get the better ones.

    Greedy: of a ring of candidates the one that covers least, and of equals the nearest.
    """
    taken = [*obstacles, *(_around(anchor.x, anchor.y, 5.0) for anchor in anchors)]
    places: list[Place] = []
    for anchor in anchors:
        best: tuple[float, Place] | None = None
        for distance in _DISTANCES_PX:
            for direction in _DIRECTIONS:
                box = _candidate(anchor, direction, distance)
                if not box.within(area):
                    continue
                covered = sum(box.overlap(other) for other in taken)
                badness = covered * 10 + distance
                if best is None or badness < best[0] - 1e-9:
                    best = (badness, Place(box, distance >= _LEADER_FROM_PX))
        if best is None:
            best = (math.inf, Place(_candidate(anchor, _DIRECTIONS[0], _DISTANCES_PX[0]), False))
        places.append(best[1])
        taken.append(best[1].box)
    return places


def nearest_edge(box: Box, x: float, y: float) -> tuple[float, float]:
    """The point of the box that is nearest to (x, y): where a leader line ends."""
    return min(max(x, box.left), box.right), min(max(y, box.top), box.bottom)


def path_boxes(points: Sequence[tuple[float, float]], radius: float = 3.0) -> list[Box]:
    """Small boxes along a line, as obstacles."""
    boxes: list[Box] = []
    for (x0, y0), (x1, y1) in pairwise(points):
        pieces = max(1, math.ceil(math.hypot(x1 - x0, y1 - y0) / (2 * radius)))
        for piece in range(pieces + 1):
            share = piece / pieces
            boxes.append(_around(x0 + share * (x1 - x0), y0 + share * (y1 - y0), radius))
    return boxes


def _around(x: float, y: float, radius: float) -> Box:
    return Box(x - radius, y - radius, x + radius, y + radius)


def _candidate(anchor: Anchor, direction: tuple[float, float], distance: float) -> Box:
    """The name with its nearest edge at the distance from the point, in the direction."""
    dx, dy = direction
    middle_x = anchor.x + dx * (distance + anchor.width / 2 if abs(dx) > 0.6 else distance)
    middle_y = anchor.y + dy * (distance + anchor.height / 2)
    return Box(
        middle_x - anchor.width / 2,
        middle_y - anchor.height / 2,
        middle_x + anchor.width / 2,
        middle_y + anchor.height / 2,
    )
