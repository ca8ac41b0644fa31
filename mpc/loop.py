"""The control loop in simulated time: the controller of the live loop on a plant."""

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


def control(controller: Controller, plant: Plant) -> Iterator[ControlStep]:
    """measure, decide, steer; once per step until the plant ends."""
    ran, _ = plant.watch()
    while plant.wait_for_step():
        measurement, _ = plant.measure(ran)
        decided = controller.step(measurement)
        ran, _ = plant.steer(decided.target, decided.applicable.key_owners)
        yield ControlStep(measurement, decided, ran)
