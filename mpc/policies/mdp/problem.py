"""The decision process: levels of the arrival rate, instances of every operator, what they cost.

Source: Russo Russo 2018, section 2. A state is a rate level and one number of instances an
operator, and an action changes each of these by at most one. What an action costs depends on the
state it leads to and on whether it changes anything (Eq. 1 and 2), so costs are tables over (level,
instances).
"""

from dataclasses import dataclass
from functools import reduce
from itertools import product

import numpy as np

from mpc.values import FloatArray, IntArray

NO_ACTION = -1
"""In a table of neighbours: the action would leave the bounds."""


@dataclass(frozen=True, slots=True)
class MdpWeights:
    """Of Eq. 1 and 2, with the values of section 4; `violation` is w_SLA or w_util."""

    resource: float = 0.2
    reconfiguration: float = 0.4
    violation: float = 0.4

    def __post_init__(self) -> None:
        if min(self.resource, self.reconfiguration, self.violation) < 0:
            raise ValueError(f"weights must not be negative, got {self}")


@dataclass(frozen=True, slots=True)
class Instances:
    """Every combination of instances of `operators` operators with `fewest`..`most` each.

    A combination is known by its place in the table `counts`, whose last operator runs fastest.
    """

    operators: int
    fewest: int
    most: int

    def __post_init__(self) -> None:
        if self.operators < 1 or not 1 <= self.fewest <= self.most:
            raise ValueError(f"needs an operator and 1 <= fewest <= most, got {self}")

    @property
    def choices(self) -> int:
        return self.most - self.fewest + 1

    @property
    def size(self) -> int:
        return int(self.choices**self.operators)

    @property
    def actions(self) -> int:
        return int(3**self.operators)

    @property
    def counts(self) -> IntArray:
        """Instances of every operator, (size, operators)."""
        grid = np.indices((self.choices,) * self.operators).reshape(self.operators, -1)
        return np.ascontiguousarray(grid.T, dtype=np.int64) + self.fewest

    def place(self, counts: IntArray) -> int:
        index = 0
        for count in counts:
            index = index * self.choices + int(count) - self.fewest
        return index

    def resource_share(self) -> FloatArray:
        """Sum of instances over N * K_max (Eq. 1), without the table of counts: it may be big."""
        one = np.arange(self.fewest, self.most + 1) / (self.operators * self.most)
        return np.asarray(reduce(np.add.outer, [one] * self.operators)).ravel()

    def neighbours(self) -> IntArray:
        """Where every action leads from every combination, (size, actions); the first keeps."""
        actions = list(product((0, -1, 1), repeat=self.operators))
        place = np.asarray(
            [self.choices ** (self.operators - 1 - index) for index in range(self.operators)],
            dtype=np.int64,
        )
        counts = self.counts
        table = np.empty((self.size, len(actions)), dtype=np.int64)
        for column, action in enumerate(np.asarray(actions, dtype=np.int64)):
            moved = counts + action
            inside = ((moved >= self.fewest) & (moved <= self.most)).all(axis=1)
            table[:, column] = np.where(inside, (moved - self.fewest) @ place, NO_ACTION)
        return table


def stage_cost(instances: Instances, weights: MdpWeights, violated: FloatArray) -> FloatArray:
    """Eq. 1 and 2 without the reconfiguration, for the instances after the action: (levels, size).

    `violated` is 1 where the response time (or the utilisation) is over its bound, or how likely
    that is.
    """
    resource = weights.resource * instances.resource_share()
    return np.asarray(resource + weights.violation * violated)
