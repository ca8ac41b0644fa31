"""What the agent distinguishes: latency in coarse steps and whether the load rises.

Source: Azimi Gehraz 2018, section 4.2.1. Each state has three actions; the table of their values is
an array indexed by latency step, direction and action.
"""

from dataclasses import dataclass
from enum import IntEnum


class Action(IntEnum):
    """In the order in which equal values are decided: keep, then the safe side."""

    KEEP = 0
    SCALE_OUT = 1
    SCALE_IN = 2


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
