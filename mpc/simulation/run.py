"""One controller on one simulated plant, from its first step to its last.

Every simulated run of benchmarks, tuner and tests goes through here, so that they all run the
controller that runs live. What a run was like is for `summary` to say.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from mpc.controller import Controller, Decided
from mpc.ports import Plant
from mpc.values import Applied, Measurement


@dataclass(frozen=True, slots=True)
class ControlStep:
    measurement: Measurement
    decided: Decided
    applied: Applied
    decision_ms: float
    """How long the whole decision took; nothing depends on it."""
    decision_cpu_ms: float
    """What of that the process was at work: on a busy machine the rest is waiting for a core."""


@dataclass(frozen=True, slots=True)
class SimulatedRun:
    steps: tuple[ControlStep, ...]

    @property
    def decision_ms(self) -> tuple[float, ...]:
        return tuple(step.decision_ms for step in self.steps)

    @property
    def expected_per_s(self) -> tuple[float | None, ...]:
        """The arrivals of each step as expected one step before; None where nothing was."""
        forecasts = [step.decided.decision.expected_arrivals_per_s for step in self.steps[:-1]]
        return (None, *(None if path is None else float(path[0]) for path in forecasts))


def control(controller: Controller, plant: Plant) -> Iterator[ControlStep]:
    """measure, decide, steer; once per step until the plant ends."""
    ran, _ = plant.watch()
    while plant.wait_for_step():
        measurement, _ = plant.measure(ran)
        begin_s, begin_cpu_s = time.perf_counter(), time.process_time()
        decided = controller.step(measurement)
        decision_cpu_ms = (time.process_time() - begin_cpu_s) * 1e3
        decision_ms = (time.perf_counter() - begin_s) * 1e3
        ran, _ = plant.steer(decided.target, decided.applicable.key_owners)
        yield ControlStep(measurement, decided, ran, decision_ms, decision_cpu_ms)


def simulate(controller: Controller, plant: Plant) -> SimulatedRun:
    """Run to the end of the plant's load."""
    return SimulatedRun(tuple(control(controller, plant)))
