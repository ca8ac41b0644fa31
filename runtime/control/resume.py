"""Nothing learned is lost: journaled measurements go through a fresh policy once more.

The core is deterministic, so its state after the same measurements is the same state. This serves
a restarted driver, and a policy that must be built anew because executors start faster or slower
than it was told.
"""

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import replace

from mpc.ports import Policy
from mpc.values import Decision, Measurement
from runtime.control.events import EventKind
from runtime.control.guards import Guards
from runtime.control.journal import StepRecord
from runtime.control.safe import EventLog

LONGEST_GAP_STEPS = 600
RELEARNED_STEPS = 300
"""Measurements that go through a new policy while the loop waits: about a second's work."""


def gap(last: StepRecord, now_s: float, step_s: float) -> tuple[Measurement, ...]:
    """Empty measurements for the steps nobody measured, so that a season keeps its phase."""
    missed = min(int((now_s - last.at_s) / step_s) - 1, LONGEST_GAP_STEPS)
    known = last.measurement
    return tuple(
        Measurement(
            step=known.step + number,
            time_s=known.time_s + number * step_s,
            requested=last.applied.requested,
            observed=last.applied.observed,
        )
        for number in range(1, missed + 1)
    )


def resume(policy: Policy, guards: Guards, records: Sequence[StepRecord]) -> None:
    """Bring a fresh policy and fresh guards to where the ones of the records were."""
    for record in records:
        decision = policy.decide(record.measurement)
        guards.check(record.measurement, decision, record.useful_executors)


class RelearningPolicy:
    """A policy that plans with the start-up time learned so far.

    The dead time is part of how a policy is built. When the learned one has moved by a whole step,
    a new policy takes over, after the last measurements have gone through it.
    """

    def __init__(
        self,
        make: Callable[[float], Policy],
        learned_s: Callable[[], float],
        initial_s: float,
        step_s: float,
        events: EventLog,
    ) -> None:
        self._make = make
        self._learned_s = learned_s
        self._step_s = step_s
        self._events = events
        self._measurements: deque[Measurement] = deque(maxlen=RELEARNED_STEPS)
        self.dead_time_s = initial_s
        """What the policy plans with."""
        self._policy = make(initial_s)

    def decide(self, measurement: Measurement) -> Decision:
        learned_s = self._learned_s()
        if abs(learned_s - self.dead_time_s) >= self._step_s:
            detail = f"{self.dead_time_s:.1f} to {learned_s:.1f} s"
            self._events.add(EventKind.DEAD_TIME_LEARNED, detail)
            self.dead_time_s = learned_s
            self._policy = self._make(learned_s)
            for earlier in self._measurements:
                self._policy.decide(earlier)
        # Arrays of every key over hundreds of steps are too much to keep, and only balance keys.
        self._measurements.append(replace(measurement, key_frequencies=None, key_cost_cycles=None))
        return self._policy.decide(measurement)
