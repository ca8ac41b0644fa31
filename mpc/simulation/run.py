"""One policy on one simulated plant, from its first step to its last.

Every simulated run of benchmarks and tuner goes through `simulate`, so that they all run the same
controller. What the run was like is for `summary` to say.
"""

import time
from dataclasses import dataclass
from typing import Protocol

from mpc.bounds import Bounds
from mpc.loop import ControlStep, control
from mpc.ports import Actuator, Clock, Policy, Sensor
from mpc.values import ConfigurationSpace, Decision, Measurement


class Plant(Sensor, Actuator, Clock, Protocol):
    """What is controlled in simulation: one object behind the three ports of the loop."""


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    steps: tuple[ControlStep, ...]
    decision_ms: tuple[float, ...]
    """How long each decision took."""

    @property
    def expected_per_s(self) -> tuple[float | None, ...]:
        """The arrivals of each step as expected one step before; None where nothing was."""
        forecasts = [step.decision.expected_arrivals_per_s for step in self.steps[:-1]]
        return (None, *(None if path is None else float(path[0]) for path in forecasts))


def simulate(policy: Policy, plant: Plant, space: ConfigurationSpace) -> SimulatedRun:
    """Run to the end of the plant's load; the policy chooses within `space`."""
    timed = _TimedPolicy(policy)
    steps = tuple(control(timed, space, plant, plant, plant))
    return SimulatedRun(steps, tuple(timed.decision_ms))


class _TimedPolicy:
    """A policy with a stopwatch around each decision."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.decision_ms: list[float] = []

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        begin_s = time.perf_counter()
        decision = self._policy.decide(measurement, bounds)
        self.decision_ms.append((time.perf_counter() - begin_s) * 1e3)
        return decision
