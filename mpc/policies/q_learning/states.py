"""What the agent distinguishes: latency in coarse steps and whether the load rises; and what each
action is worth in each state before anything is learned: zero, random or optimised.

Source: Azimi Gehraz 2018, sections 4.2.1 and 4.2.2. Each state has three actions; the table of
their values is an array indexed by latency step, direction and action. The optimised one divides
the states into four regions (Fig. 4.3, Table 4.1) by latency below or above the target and load
rising or falling.
"""

from dataclasses import dataclass
from enum import IntEnum

import numpy as np

from mpc.policies.q_learning.options import Initialisation
from mpc.values import FloatArray


class Action(IntEnum):
    """In the order in which equal values are decided: keep, then the safe side."""

    KEEP = 0
    SCALE_OUT = 1
    SCALE_IN = 2

    @property
    def words(self) -> str:
        return self.name.lower().replace("_", " ")


@dataclass(frozen=True, slots=True)
class State:
    latency_index: int
    """Latency in steps of the granularity, rounded down."""
    rising: bool
    """More items arrive than in the window of the decision before."""

    @property
    def index(self) -> tuple[int, int]:
        return self.latency_index, int(self.rising)


@dataclass(frozen=True, slots=True)
class StateGrid:
    """Every state there is: latencies up to a maximum, each with the load falling or rising."""

    target_latency_s: float
    granularity_s: float
    max_latency_s: float

    def __post_init__(self) -> None:
        if not 0 < self.granularity_s <= self.target_latency_s < self.max_latency_s:
            raise ValueError(
                f"latencies must satisfy 0 < granularity <= target < maximum, got "
                f"{self.granularity_s} s, {self.target_latency_s} s and {self.max_latency_s} s"
            )

    @property
    def latencies(self) -> int:
        """Number of latency steps; the last one holds everything above."""
        return _steps(self.max_latency_s, self.granularity_s) + 1

    @property
    def target_index(self) -> int:
        """The first step that violates the target."""
        return _steps(self.target_latency_s, self.granularity_s)

    def state(self, latency_s: float, rising: bool) -> State:
        index = min(_steps(latency_s, self.granularity_s), self.latencies - 1)
        return State(index, rising)

    def violates(self, state: State) -> bool:
        return state.latency_index >= self.target_index


def _steps(latency_s: float, granularity_s: float) -> int:
    # A third of the target, three times, may round to just below the target.
    return int(latency_s / granularity_s + 1e-9)


def initial_values(
    kind: Initialisation, grid: StateGrid, generator: np.random.Generator
) -> FloatArray:
    """Indexed by latency, rising load and action."""
    shape = (grid.latencies, 2, len(Action))
    if kind == "zero":
        return np.zeros(shape)
    if kind == "random":
        return generator.uniform(-1.0, 1.0, shape)
    return _optimised(grid)


def _optimised(grid: StateGrid) -> FloatArray:
    """Eq. 4.9 to 4.13, with the lower edge of a latency step as its latency."""
    values = np.zeros((grid.latencies, 2, len(Action)))
    edges_s = np.arange(grid.latencies) * grid.granularity_s
    ratio = edges_s / grid.target_latency_s
    below = np.arange(grid.latencies) < grid.target_index
    above = ~below
    falling, rising = 0, 1
    # Region 1, Eq. 4.10: below the target, load rising; scale out early.
    values[below, rising, Action.SCALE_OUT] = ratio[below]
    values[below, rising, Action.KEEP] = 1.0 - ratio[below]
    # Region 2, Eq. 4.11: above the target, load rising.
    values[above, rising, Action.SCALE_OUT] = ratio[above]
    values[above, rising, Action.KEEP] = ratio[above] - 1.0
    values[above, rising, Action.SCALE_IN] = -1.0
    # Region 3, Eq. 4.12: above the target, load falling; let the latency settle.
    values[above, falling, Action.KEEP] = 1.0
    values[above, falling, Action.SCALE_IN] = -1.0
    # Region 4, Eq. 4.13: below the target, load falling; scale in when far below.
    values[below, falling, Action.KEEP] = ratio[below]
    values[below, falling, Action.SCALE_IN] = 1.0 - ratio[below]
    return values
