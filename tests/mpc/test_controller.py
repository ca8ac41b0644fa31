"""The controller decides at every step, plans with the dead time it measures, and remembers."""

from dataclasses import replace
from typing import Any, cast

import pytest

from mpc.bounds import Bounds
from mpc.controller import Controller
from mpc.descent_limits import UNLIMITED
from mpc.events import EventKind
from mpc.policies.rule_based.options import RuleBasedOptions
from mpc.policies.rule_based.policy import RuleBasedPolicy
from mpc.snapshot import load, save
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement
from tests.support.contexts import context

SPACE = ConfigurationSpace(1, 9, (1_000_000, 2_000_000))
PLACE = Configuration(2, 2_000_000)


class Counting:
    """Decides by how much it has seen, and says the dead time it was told."""

    def __init__(self) -> None:
        self.seen = 0

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self.seen += 1
        return Decision(Configuration(self.seen, 2_000_000), f"{measurement.startup_s}")


def measured(step: int, startup_s: float | None = None) -> Measurement:
    return Measurement(step, float(step), PLACE, PLACE, arrivals_per_s=1.0, startup_s=startup_s)


def test_the_dead_time_follows_in_steps_and_the_policy_stays() -> None:
    policy = Counting()
    controller = Controller(policy, SPACE, 1.0, step_s=1.0, descent=UNLIMITED)
    steps = [
        controller.step(measured(step, startup_s))
        for step, startup_s in enumerate([3.0, None, 3.9, 4.0])
    ]
    assert [step.decision.target.executors for step in steps] == [1, 2, 3, 4]
    assert [step.decision.reason for step in steps] == ["3.0", "3.0", "3.0", "4.0"]
    assert [step.dead_time_s for step in steps] == [3.0, 3.0, 3.0, 4.0]
    assert controller.state.policy is policy
    kinds = [[event.kind for event in step.events] for step in steps]
    assert kinds == [[], [], [], [EventKind.DEAD_TIME_LEARNED]]


def test_a_fixed_dead_time_stays() -> None:
    controller = Controller(Counting(), SPACE, 1.0, step_s=1.0, fixed_dead_time_s=2.0)
    steps = [controller.step(measured(step, 10.0 * step)) for step in range(3)]
    assert [step.decision.reason for step in steps] == ["None"] * 3, "as it was built"
    assert [step.dead_time_s for step in steps] == [2.0] * 3


@pytest.mark.parametrize("nonsense", [None, 3, Decision(cast(Any, "all"), "")])
def test_nonsense_holds_and_says_so(nonsense: Decision) -> None:
    class Confused:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return nonsense

    decided = Controller.of(Confused(), SPACE, 1.0, 1.0).step(measured(0))
    assert decided.target == PLACE
    assert [event.kind for event in decided.events] == [EventKind.STEP_FAILED]


def test_a_target_outside_the_bounds_is_the_nearest_inside() -> None:
    class Everything:
        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            return Decision(Configuration(99, 2_000_000), "all")

    controller = Controller.of(Everything(), SPACE, 1.0, 1.0)
    decided = controller.step(replace(measured(0), useful_executors=4))
    assert decided.decision.target.executors == 99
    assert decided.target == Configuration(4, 2_000_000)
    assert decided.bounds.contains(decided.target)
    assert decided.applicable.target == decided.target
    kinds = {event.kind for event in decided.events}
    assert kinds == {EventKind.OUT_OF_BOUNDS, EventKind.HELD_USEFUL_TASKS}


def test_a_saved_state_goes_on_as_if_nothing_had_happened() -> None:
    def fresh() -> Controller:
        return Controller.of(
            RuleBasedPolicy(RuleBasedOptions(), context(SPACE, target_s=1.0)), SPACE, 1.0, 1.0
        )

    whole, parts = fresh(), fresh()
    late = [replace(measured(step), latency_s=0.5 + step % 4) for step in range(40)]
    expected = [whole.step(each) for each in late]
    found = [parts.step(each) for each in late[:20]]
    restored = fresh()
    restored.state = load(save(parts.state))
    found += [restored.step(each) for each in late[20:]]
    assert found == expected
