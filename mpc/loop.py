"""One control loop for the simulator and the live cluster; only the ports differ."""

from collections.abc import Iterator
from dataclasses import dataclass

from mpc.bounds import Bounds
from mpc.ports import Actuator, Clock, Policy, Sensor
from mpc.values import Applied, ConfigurationSpace, Decision, Measurement


@dataclass(frozen=True, slots=True)
class ControlStep:
    measurement: Measurement
    decision: Decision
    applied: Applied


def control(
    policy: Policy, space: ConfigurationSpace, sensor: Sensor, actuator: Actuator, clock: Clock
) -> Iterator[ControlStep]:
    """measure, decide, apply; once per step until the clock ends."""
    bounds = Bounds(space)
    while clock.wait_for_step():
        measurement = sensor.measure()
        decision = policy.decide(measurement, bounds)
        yield ControlStep(measurement, decision, actuator.apply(decision))
