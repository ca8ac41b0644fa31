"""One control loop for the simulator and the live cluster; only the ports differ."""

from collections.abc import Iterator
from dataclasses import dataclass

from mpc.ports import Actuator, Clock, Policy, Sensor
from mpc.values import Applied, Decision, Measurement


@dataclass(frozen=True, slots=True)
class ControlStep:
    measurement: Measurement
    decision: Decision
    applied: Applied


def control(
    policy: Policy, sensor: Sensor, actuator: Actuator, clock: Clock
) -> Iterator[ControlStep]:
    """measure, decide, apply; once per step until the clock ends."""
    while clock.wait_for_step():
        measurement = sensor.measure()
        decision = policy.decide(measurement)
        yield ControlStep(measurement, decision, actuator.apply(decision))
