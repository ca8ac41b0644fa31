"""The controller: a policy, the guards around it and the dead time that it plans with.

    measurement ─▶ silence as a latency ─▶ bounds ─▶ decide within them ─▶ check ─▶ Decided

A pure state machine: everything it knows came through `step`. The live loop, the replay of a
journal, what-if, the simulator, the benchmarks and the tuner all run this class, so that a figure
of the simulator is a figure of the controller that runs.
"""

from dataclasses import dataclass, replace
from operator import index

from mpc.bounds import Bounds
from mpc.descent_limits import DescentLimits
from mpc.events import Event, EventKind, Events
from mpc.guards import Guards
from mpc.ports import Policy
from mpc.silence import Silence
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement

_LONGEST_DETAIL = 300


@dataclass(frozen=True, slots=True)
class Decided:
    """What came of one step."""

    decision: Decision
    """The policy's own."""
    target: Configuration
    """What may be applied of it."""
    bounds: Bounds
    dead_time_s: float
    """What the policy planned with."""
    events: Events = ()

    @property
    def applicable(self) -> Decision:
        """The decision with the target that may be applied."""
        if self.target.executors == self.decision.target.executors:
            return replace(self.decision, target=self.target)
        # Its distribution table is for another number of executors.
        return replace(self.decision, target=self.target, key_owners=None)


@dataclass(slots=True)
class ControllerState:
    """All that a controller has learned; what it is built from is not part of it."""

    policy: Policy
    guards: Guards
    silence: Silence
    dead_time_s: float
    steps: int = 0
    """Decided so far."""


class Controller:
    def __init__(
        self,
        policy: Policy,
        space: ConfigurationSpace,
        target_latency_s: float,
        step_s: float,
        fixed_dead_time_s: float | None = None,
        descent: DescentLimits | None = None,
        quantile: float | None = None,
    ) -> None:
        """Unless the dead time is fixed, it follows the measured start-up time of executors
        whenever that has moved by a step, and the policy finds it in each measurement. `descent`
        limits how capacity is given up; None: as by default."""
        self._step_s = step_s
        self._fixed_dead_time_s = fixed_dead_time_s
        self.state = ControllerState(
            policy,
            Guards(space, target_latency_s, step_s, descent, quantile),
            Silence(target_latency_s),
            fixed_dead_time_s or 0.0,
        )

    @classmethod
    def of(
        cls,
        policy: Policy,
        space: ConfigurationSpace,
        target_latency_s: float,
        step_s: float,
        descent: DescentLimits | None = None,
    ) -> "Controller":
        """Around a policy that keeps the dead time that it was built with."""
        return cls(policy, space, target_latency_s, step_s, 0.0, descent)

    def step(self, measurement: Measurement) -> Decided:
        """Always a decision, whatever the policy does."""
        state = self.state
        measurement = state.silence.heard(measurement)
        events = self._follow_dead_time(measurement.startup_s)
        bounds = state.guards.bounds(measurement)
        planned_with_s = None if self._fixed_dead_time_s is not None else state.dead_time_s
        known = replace(measurement, startup_s=planned_with_s)
        try:
            decision = _checked(state.policy.decide(known, bounds))
        except Exception as error:
            decision = Decision(measurement.requested, "the policy failed: hold")
            events.append(failure("policy", error))
        if decision.cooling_down:
            events.append(Event(EventKind.HELD_COOLDOWN, decision.reason))
        checked = state.guards.check(measurement, bounds, decision.target, at_once=decision.at_once)
        state.steps += 1
        return Decided(
            decision, checked.target, bounds, state.dead_time_s, (*events, *checked.events)
        )

    def _follow_dead_time(self, learned_s: float | None) -> list[Event]:
        """A value of the step, not of the policy: what the policy has learned stays."""
        state = self.state
        if self._fixed_dead_time_s is not None or learned_s is None:
            return []
        if abs(learned_s - state.dead_time_s) < self._step_s:
            return []
        detail = f"{state.dead_time_s:.1f} to {learned_s:.1f} s"
        state.dead_time_s = learned_s
        # Before the first step there was no other to plan with.
        return [Event(EventKind.DEAD_TIME_LEARNED, detail)] if state.steps else []


def failure(part: str, error: BaseException) -> Event:
    """One part of a step that raised."""
    words = " ".join(f"{part}: {type(error).__name__}: {error}".split())
    return Event(EventKind.STEP_FAILED, words[:_LONGEST_DETAIL])


def _checked(decision: object) -> Decision:
    """A policy of another author may return anything."""
    if not isinstance(decision, Decision):
        raise TypeError(f"decided {decision!r:.80}, not a Decision")
    target = decision.target
    # `index` raises for everything but whole numbers, numpy's among them.
    plain = Configuration(index(target.executors), index(target.frequency_khz))
    return decision if plain == target else replace(decision, target=plain)
