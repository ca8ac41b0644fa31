"""What no decision may do, whatever a policy believes: bounds before it, an invariant after it.

A policy may be wrong, its data old, the cluster small. Nothing is given up without a fresh
measurement of every query or while the target is missed, and otherwise a share at a time and after
a while (`mpc.descent`); executors that would find no task are not asked for, and those that brought
nothing are given back.
"""

from collections import deque
from dataclasses import dataclass
from itertools import dropwhile

from mpc.bounds import Bounds, Reason
from mpc.descent import Descent
from mpc.descent_limits import DescentLimits
from mpc.events import Event, EventKind, Events
from mpc.objective import breaks_objective, lateness
from mpc.scale_out_trial import ScaleOutTrial
from mpc.values import Configuration, ConfigurationSpace, Measurement


@dataclass(frozen=True, slots=True)
class Checked:
    """What may be applied, and what kept it from being more or less."""

    target: Configuration
    events: Events


class Guards:
    """Asked twice a step: for the bounds before the decision, for the check after it."""

    def __init__(
        self,
        space: ConfigurationSpace,
        target_latency_s: float,
        step_s: float,
        descent: DescentLimits | None = None,
        quantile: float | None = None,
    ) -> None:
        """`quantile`: share of the rows that must keep the target; None: their mean."""
        self._space = space
        self._everything = Bounds(space)
        self._target_latency_s = target_latency_s
        self._quantile = quantile
        self._trial = ScaleOutTrial(target_latency_s, quantile)
        self._descent = Descent(descent or DescentLimits(), step_s)
        self._useful = UsefulCount()
        self._met: frozenset[Reason] = frozenset()
        """Reasons whose edge the last target stood on: reported when they begin to matter."""
        self._settling = False
        """Whether the last target was held because less had not been enough for long."""

    def bounds(self, measurement: Measurement) -> Bounds:
        space, current = self._space, self._everything.nearest(measurement.requested)
        fewest, most, lowest_khz = space.min_executors, space.max_executors, 0
        reasons = []
        window_steps = self._descent.window_steps(measurement.startup_s)
        useful = self._useful.observe(measurement, window_steps)
        if useful is not None and useful < most:
            most = max(useful, fewest)
            detail = f"a batch has tasks for {measurement.useful_executors} executors"
            reasons.append(Reason(EventKind.HELD_USEFUL_TASKS, detail))
        verdict = self._trial.observe(measurement)
        if verdict.ceiling is not None and verdict.ceiling < most:
            most = max(verdict.ceiling, fewest)
            found = EventKind.INEFFECTIVE_SCALE_OUT if verdict.found else EventKind.HELD_INEFFECTIVE
            reasons.append(Reason(found, f"more than {verdict.ceiling} executors brought nothing"))
        doubt = self._descent.doubt(measurement)
        if doubt is not None:
            fewest, most = current.executors, max(most, current.executors)
            lowest_khz = current.frequency_khz
            reasons.append(doubt)
        elif self.is_late(measurement):
            # Less never helped a stream that is late, whatever a model says. Executors that find
            # no task or brought nothing are no loss.
            fewest, lowest_khz = min(current.executors, most), current.frequency_khz
            reasons.append(Reason(EventKind.HELD_VIOLATION, self._lateness(measurement)))
        else:
            floor = self._descent.floor(current, most)
            if floor.executors > fewest or floor.frequency_khz > space.frequencies_khz[0]:
                fewest, lowest_khz = max(fewest, floor.executors), floor.frequency_khz
                reasons.append(Reason(EventKind.HELD_SHARE, f"{_in_words(current)} before"))
        frequencies_khz = tuple(dropwhile(lambda khz: khz < lowest_khz, space.frequencies_khz))
        return Bounds(ConfigurationSpace(fewest, most, frequencies_khz), tuple(reasons))

    def check(
        self,
        measurement: Measurement,
        bounds: Bounds,
        wanted: Configuration,
        *,
        at_once: bool = False,
    ) -> Checked:
        """The configuration inside the bounds that is nearest to what the policy wants, or more
        while less has not been enough for long. `at_once`: to wait would break a limit."""
        nearest = bounds.nearest(wanted)
        events = []
        if not self._everything.contains(wanted):
            events.append(Event(EventKind.OUT_OF_BOUNDS, _in_words(wanted)))
        wanted_more = wanted.executors > nearest.executors
        wanted_less = (
            wanted.executors < nearest.executors or wanted.frequency_khz < nearest.frequency_khz
        )
        useful = bounds.space.max_executors
        target = self._descent.limited(measurement, bounds, nearest, useful, at_once=at_once)
        if target != nearest and not self._settling:
            events.append(Event(EventKind.HELD_WINDOW, f"{_in_words(nearest)} wanted"))
        self._settling = target != nearest
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
        return breaks_objective(measurement, self._target_latency_s, self._quantile)

    def _lateness(self, measurement: Measurement) -> str:
        return lateness(measurement, self._target_latency_s, self._quantile)


class UsefulCount:
    """How many executors find a task, by the most of the last steps: fewer tasks may be the matter
    of one batch, or of one bad reading."""

    def __init__(self) -> None:
        self._readings: deque[int] = deque()

    def observe(self, measurement: Measurement, window_steps: int) -> int | None:
        """None: not known. What is requested already is left alone for as long as the window."""
        useful = measurement.useful_executors
        if useful is None:
            return None
        if not self._readings:
            found = max(useful, measurement.requested.executors)
            self._readings.extend([found] * (window_steps - 1))
        self._readings.append(useful)
        while len(self._readings) > window_steps:
            self._readings.popleft()
        return max(self._readings)


def _in_words(configuration: Configuration) -> str:
    return f"{configuration.executors} executors at {configuration.frequency_khz} kHz"
