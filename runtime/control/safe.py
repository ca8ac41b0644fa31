"""The ports of the loop, made so that nothing they do can end it.

Whatever raises becomes an event, and its part of the step holds what was there: an empty
measurement, the configuration as requested. The application never sees it.
"""

import threading
from collections.abc import Callable
from dataclasses import replace

from energy.power import PowerModel
from mpc.bounds import Bounds
from mpc.events import Event, EventKind
from mpc.ports import Policy
from mpc.values import Applied, Decision, Measurement
from runtime.control.actuator import ClusterActuator
from runtime.control.guards import Guards
from runtime.control.ports import LiveSensor

_LONGEST_DETAIL = 300


class EventLog:
    """Collects what happens during a step."""

    def __init__(self) -> None:
        self._events: list[Event] = []

    def add(self, kind: EventKind, detail: str) -> None:
        self._events.append(Event(kind, detail))

    def extend(self, events: tuple[Event, ...]) -> None:
        self._events.extend(events)

    def failed(self, part: str, error: Exception) -> None:
        words = " ".join(f"{part}: {type(error).__name__}: {error}".split())
        self.add(EventKind.STEP_FAILED, words[:_LONGEST_DETAIL])

    def drain(self) -> tuple[Event, ...]:
        drained, self._events = tuple(self._events), []
        return drained


class SafeSensor:
    """Numbers the steps, across restarts too, and adds the modelled power where none was read."""

    def __init__(
        self,
        sensor: LiveSensor,
        actuator: ClusterActuator,
        power: PowerModel | None,
        first_step: int,
        first_time_s: float,
        monotonic_s: Callable[[], float],
        events: EventLog,
    ) -> None:
        """`power` is None where watts are not known."""
        self._sensor = sensor
        self._actuator = actuator
        self._power = power
        self._next_step = first_step
        self._monotonic_s = monotonic_s
        self._zero_s = monotonic_s() - first_time_s
        self._events = events

    def measure(self) -> Measurement:
        step, time_s = self._next_step, self._monotonic_s() - self._zero_s
        self._next_step += 1
        current = self._actuator.current
        try:
            measured = replace(self._sensor.measure(), step=step, time_s=time_s)
            self._events.extend(self._sensor.news())
        except Exception as error:
            self._events.failed("sensor", error)
            measured = Measurement(step, time_s, current.requested, current.observed)
        if measured.power_w is None and self._power is not None:
            observed = measured.observed
            power_w = float(self._power.power_w(observed.executors, observed.frequency_khz))
            measured = replace(measured, power_w=power_w, power_source="modelled")
        return measured


class GuardedPolicy:
    """The policy and, behind it, the guards."""

    def __init__(
        self,
        policy: Policy,
        guards: Guards,
        useful_executors: Callable[[], int | None],
        events: EventLog,
    ) -> None:
        self._policy = policy
        self._guards = guards
        self._ask_useful = useful_executors
        self._events = events
        self.decided: Decision | None = None
        """The policy's own last decision."""
        self.useful_executors: int | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        try:
            decision = self._policy.decide(measurement, bounds)
        except Exception as error:
            self._events.failed("policy", error)
            decision = Decision(measurement.requested, "the policy failed: hold")
        self.decided = decision
        if decision.cooling_down:
            self._events.add(EventKind.HELD_COOLDOWN, decision.reason)
        try:
            self.useful_executors = self._ask_useful()
        except Exception as error:
            self._events.failed("useful tasks", error)
            self.useful_executors = None
        guarded = self._guards.check(measurement, decision, self.useful_executors)
        self._events.extend(guarded.events)
        if guarded.target.executors != decision.target.executors:
            # Its distribution table is for another number of executors.
            decision = replace(decision, key_owners=None)
        return replace(decision, target=guarded.target)


class SafeActuator:
    """Applies decisions, except while something holds the controller: then it only looks."""

    def __init__(
        self,
        actuator: ClusterActuator,
        events: EventLog,
        held: Callable[[], Event | None],
    ) -> None:
        self._actuator = actuator
        self._events = events
        self._held = held

    def apply(self, decision: Decision) -> Applied:
        try:
            held = self._held()
            if held is not None:
                self._events.extend((held,))
                return self._actuator.look()
            return self._actuator.apply(decision)
        except Exception as error:
            self._events.failed("actuator", error)
            return self._actuator.current
        finally:
            self._events.extend(self._actuator.news())


class StepClock:
    """Steps on an absolute schedule, so that no delay adds up; steps that were slept through are
    left out."""

    def __init__(
        self,
        step_s: float,
        stop: threading.Event,
        alive: Callable[[], bool],
        monotonic_s: Callable[[], float],
        events: EventLog,
    ) -> None:
        self._step_s = step_s
        self._stop = stop
        self._alive = alive
        self._monotonic_s = monotonic_s
        self._events = events
        self._due_s = monotonic_s()

    def wait_for_step(self) -> bool:
        self._due_s += self._step_s
        late_s = self._monotonic_s() - self._due_s
        if late_s >= self._step_s:
            missed = int(late_s / self._step_s)
            self._due_s += missed * self._step_s
            self._events.add(EventKind.STEPS_MISSED, f"{missed} steps")
        if self._stop.wait(max(self._due_s - self._monotonic_s(), 0.0)):
            return False
        return self._alive()

    def since_due_s(self) -> float:
        """How long ago the current step was due."""
        return self._monotonic_s() - self._due_s
