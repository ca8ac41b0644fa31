"""The controller: a policy, the guards around it and the dead time it plans with.

    measurement ─▶ bounds ─▶ decide within them ─▶ check ─▶ Decided

A pure state machine: everything it knows came through `step`. The live loop, the replay of a
journal, what-if, the simulator, the benchmarks and the tuner all run this class, so that a figure
of the simulator is a figure of the controller that runs.
"""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import index

from mpc.bounds import Bounds
from mpc.events import Event, EventKind, Events
from mpc.guards import Guards
from mpc.ports import Policy
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement

RELEARNED_STEPS = 300
"""Measurements that go through a policy that is built anew: about a second's work."""
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
    dead_time_s: float
    recent: deque[tuple[Measurement, Bounds]]


class Controller:
    def __init__(
        self,
        make_policy: Callable[[float], Policy],
        space: ConfigurationSpace,
        target_latency_s: float,
        step_s: float,
        fixed_dead_time_s: float | None = None,
    ) -> None:
        """`make_policy` builds the policy for a dead time in seconds. Unless that is fixed, the
        policy is built anew whenever the measured start-up time of executors has moved by a step.
        """
        self._make_policy = make_policy
        self._step_s = step_s
        self._fixed_dead_time_s = fixed_dead_time_s
        dead_time_s = fixed_dead_time_s or 0.0
        self.state = ControllerState(
            make_policy(dead_time_s),
            Guards(space, target_latency_s),
            dead_time_s,
            deque(maxlen=RELEARNED_STEPS),
        )

    @classmethod
    def of(
        cls, policy: Policy, space: ConfigurationSpace, target_latency_s: float, step_s: float
    ) -> "Controller":
        """Around a policy that is built already and stays as it is."""
        return cls(lambda _: policy, space, target_latency_s, step_s, fixed_dead_time_s=0.0)

    def step(self, measurement: Measurement) -> Decided:
        """Always a decision, whatever the policy does."""
        events = self._follow_dead_time(measurement)
        state = self.state
        bounds = state.guards.bounds(measurement)
        # Arrays of every key over hundreds of steps are too much to keep, and only balance keys.
        kept = replace(measurement, key_frequencies=None, key_cost_cycles=None)
        state.recent.append((kept, bounds))
        try:
            decision = _checked(state.policy.decide(measurement, bounds))
        except Exception as error:
            decision = Decision(measurement.requested, "the policy failed: hold")
            events.append(failure("policy", error))
        if decision.cooling_down:
            events.append(Event(EventKind.HELD_COOLDOWN, decision.reason))
        checked = state.guards.check(measurement, bounds, decision.target)
        return Decided(
            decision, checked.target, bounds, state.dead_time_s, (*events, *checked.events)
        )

    def _follow_dead_time(self, measurement: Measurement) -> list[Event]:
        state, learned_s = self.state, measurement.startup_s
        if self._fixed_dead_time_s is not None or learned_s is None:
            return []
        if abs(learned_s - state.dead_time_s) < self._step_s:
            return []
        detail = f"{state.dead_time_s:.1f} to {learned_s:.1f} s"
        state.dead_time_s = learned_s
        state.policy = self._make_policy(learned_s)
        for earlier, bounds in state.recent:
            try:
                state.policy.decide(earlier, bounds)
            except Exception as error:
                return [failure("policy", error)]
        return [Event(EventKind.DEAD_TIME_LEARNED, detail)] if state.recent else []


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
