"""What no decision may do, whatever a policy believes: bounds before it, an invariant after it.

A policy may be wrong, its data old, the cluster small. Nothing is given up without a fresh
measurement or while the target is missed, executors that would find no task are not asked for, and
those that brought nothing are given back.
"""

from dataclasses import dataclass
from itertools import dropwhile

from mpc.bounds import Bounds, Reason
from mpc.events import Event, EventKind, Events
from mpc.scale_out_trial import ScaleOutTrial
from mpc.values import Configuration, ConfigurationSpace, Measurement


@dataclass(frozen=True, slots=True)
class Checked:
    """What may be applied, and what kept it from being more or less."""

    target: Configuration
    events: Events


class Guards:
    """Asked twice a step: for the bounds before the decision, for the check after it."""

    def __init__(self, space: ConfigurationSpace, target_latency_s: float) -> None:
        self._space = space
        self._everything = Bounds(space)
        self._target_latency_s = target_latency_s
        self._trial = ScaleOutTrial(target_latency_s)
        self._met: frozenset[Reason] = frozenset()
        """Reasons whose edge the last target stood on: reported when they begin to matter."""

    def bounds(self, measurement: Measurement) -> Bounds:
        space, current = self._space, self._everything.nearest(measurement.requested)
        fewest, most = space.min_executors, space.max_executors
        frequencies_khz = space.frequencies_khz
        reasons = []
        useful = measurement.useful_executors
        if useful is not None and max(useful, current.executors) < most:
            most = max(useful, current.executors)
            detail = f"a batch has tasks for {useful} executors"
            reasons.append(Reason(EventKind.HELD_USEFUL_TASKS, detail))
        verdict = self._trial.observe(measurement)
        if verdict.ceiling is not None and verdict.ceiling < most:
            most = max(verdict.ceiling, fewest)
            found = EventKind.INEFFECTIVE_SCALE_OUT if verdict.found else EventKind.HELD_INEFFECTIVE
            reasons.append(Reason(found, f"more than {verdict.ceiling} executors brought nothing"))
        if measurement.arrivals_per_s is None:
            fewest, most = current.executors, max(most, current.executors)
            reasons.append(Reason(EventKind.HELD_STALE_MEASUREMENT, "no arrivals were measured"))
        elif self.is_late(measurement):
            # Less never helped a stream that is late, whatever a model says. Executors that
            # brought nothing are no loss.
            fewest = min(current.executors, most)
            reasons.append(Reason(EventKind.HELD_VIOLATION, self._lateness(measurement)))
        if measurement.arrivals_per_s is None or self.is_late(measurement):
            frequencies_khz = tuple(
                dropwhile(lambda khz: khz < current.frequency_khz, frequencies_khz)
            )
        return Bounds(ConfigurationSpace(fewest, most, frequencies_khz), tuple(reasons))

    def check(self, measurement: Measurement, bounds: Bounds, wanted: Configuration) -> Checked:
        """The configuration inside the bounds that is nearest to what the policy wants."""
        target = bounds.nearest(wanted)
        events = []
        if not self._everything.contains(wanted):
            events.append(Event(EventKind.OUT_OF_BOUNDS, _in_words(wanted)))
        wanted_more = wanted.executors > target.executors
        wanted_less = (
            wanted.executors < target.executors or wanted.frequency_khz < target.frequency_khz
        )
        met = frozenset(bounds.met_by(target))
        for reason in bounds.reasons:
            if wanted_more if reason.limits_growth else wanted_less:
                detail = f"{_in_words(wanted)} wanted: {reason.detail}"
                events.append(Event(reason.kind, detail))
            elif reason.limits_growth and reason in met - self._met:
                # A policy that plans within its bounds never wants more than them.
                events.append(Event(reason.kind, reason.detail))
        self._met = met
        self._trial.requested(measurement.requested, target)
        if self.is_late(measurement) and target == self._space.largest:
            events.append(Event(EventKind.AT_MAXIMUM, self._lateness(measurement)))
        return Checked(target, tuple(events))

    def is_late(self, measurement: Measurement) -> bool:
        latency_s = measurement.latency_s
        return latency_s is not None and latency_s > self._target_latency_s

    def _lateness(self, measurement: Measurement) -> str:
        return f"latency {measurement.latency_s:.3g} s above {self._target_latency_s:.3g} s"


def _in_words(configuration: Configuration) -> str:
    return f"{configuration.executors} executors at {configuration.frequency_khz} kHz"
