"""The last word on a decision before it is applied; pure, like the policies it watches.

A policy may be wrong, its data old, the cluster small. Whatever it asks for, the bounds are kept,
nothing is scaled in without a fresh measurement or while the target is missed, executors that would
find no task are not asked for, and those that brought nothing are given back.
"""

from dataclasses import dataclass

from mpc.events import Event, EventKind
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement
from runtime.control.effect import ScaleOutTrial


@dataclass(frozen=True, slots=True)
class Guarded:
    """What may be applied, and what was held back."""

    target: Configuration
    events: tuple[Event, ...]


class Guards:
    def __init__(self, space: ConfigurationSpace, target_latency_s: float) -> None:
        self.space = space
        self._target_latency_s = target_latency_s
        self._trial = ScaleOutTrial(target_latency_s)

    def check(
        self, measurement: Measurement, decision: Decision, useful_executors: int | None
    ) -> Guarded:
        """`useful_executors`: how many find a task in a batch; None where nobody knows."""
        current = measurement.requested
        events: list[Event] = []
        target = self._within_bounds(decision.target, events)
        if self._misses_target(measurement) and _speed(target) < _speed(current):
            # Less never helped a stream that is late, whatever a model says.
            detail = f"{target.executors} executors at {target.frequency_khz} kHz wanted"
            events.append(Event(EventKind.HELD_VIOLATION, detail))
            target = current
        target = self._effective(measurement, target, events)
        if useful_executors is not None and target.executors > current.executors:
            allowed = max(useful_executors, current.executors, self.space.min_executors)
            if target.executors > allowed:
                detail = f"{target.executors} wanted, a batch has tasks for {useful_executors}"
                events.append(Event(EventKind.HELD_USEFUL_TASKS, detail))
                target = Configuration(allowed, target.frequency_khz)
        if measurement.arrivals_per_s is None:
            target = _not_less(target, current, events)
        self._trial.requested(current, target)
        if self._at_maximum(measurement, target):
            detail = f"latency {measurement.latency_s:.3g} s above {self._target_latency_s:.3g} s"
            events.append(Event(EventKind.AT_MAXIMUM, detail))
        return Guarded(target, tuple(events))

    def _within_bounds(self, target: Configuration, events: list[Event]) -> Configuration:
        space = self.space
        nearest = space.at(
            space.executor_index(target.executors), space.frequency_index(target.frequency_khz)
        )
        if nearest != target:
            detail = f"{target.executors} executors at {target.frequency_khz} kHz wanted"
            events.append(Event(EventKind.OUT_OF_BOUNDS, detail))
        return nearest

    def _effective(
        self, measurement: Measurement, target: Configuration, events: list[Event]
    ) -> Configuration:
        verdict = self._trial.observe(measurement)
        if verdict.ceiling is None or target.executors <= verdict.ceiling:
            return target
        kind = EventKind.INEFFECTIVE_SCALE_OUT if verdict.found else EventKind.HELD_INEFFECTIVE
        detail = f"{target.executors} wanted, more than {verdict.ceiling} brought nothing"
        events.append(Event(kind, detail))
        return Configuration(max(verdict.ceiling, self.space.min_executors), target.frequency_khz)

    def _at_maximum(self, measurement: Measurement, target: Configuration) -> bool:
        return self._misses_target(measurement) and target == self.space.largest

    def _misses_target(self, measurement: Measurement) -> bool:
        latency_s = measurement.latency_s
        return latency_s is not None and latency_s > self._target_latency_s


def _speed(configuration: Configuration) -> int:
    return configuration.executors * configuration.frequency_khz


def _not_less(target: Configuration, current: Configuration, events: list[Event]) -> Configuration:
    """Neither fewer executors nor a lower frequency than now."""
    held = Configuration(
        max(target.executors, current.executors), max(target.frequency_khz, current.frequency_khz)
    )
    if held != target:
        detail = f"{target.executors} executors at {target.frequency_khz} kHz wanted"
        events.append(Event(EventKind.HELD_STALE_MEASUREMENT, detail))
    return held
