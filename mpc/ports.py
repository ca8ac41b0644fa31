"""What the control loop needs from the outside: a sensor, an actuator and a clock.

The simulator, the journal replay and the live Spark cluster implement the same three.
"""

from typing import Protocol

from mpc.bounds import Bounds
from mpc.values import Applied, Decision, Measurement


class Sensor(Protocol):
    def measure(self) -> Measurement: ...


class Actuator(Protocol):
    def apply(self, decision: Decision) -> Applied: ...


class Clock(Protocol):
    def wait_for_step(self) -> bool:
        """Block (or simulate) until the next step begins; False when there is none."""
        ...


class Policy(Protocol):
    """Measurement and bounds in, decision out. Always a decision, whatever is missing.

    A policy plans within the bounds; whatever it decides is checked by the controller.
    """

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision: ...
