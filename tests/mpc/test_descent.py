"""Capacity is given up slowly: after a while, a share at a time, never on one reading."""

from dataclasses import replace
from itertools import pairwise
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mpc.controller import Controller
from mpc.descent_limits import UNLIMITED, DescentLimits
from mpc.events import EventKind
from mpc.guards import Guards
from mpc.snapshot import load, save
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement

SPACE = ConfigurationSpace(1, 12, (1_200_000, 1_600_000, 2_000_000))
configurations = st.builds(
    Configuration, st.integers(1, 12), st.sampled_from(SPACE.frequencies_khz)
)
SMALLEST = Configuration(1, 1_200_000)


class Steps:
    """The guards with a cluster that does at once what it is told."""

    def __init__(self, limits: DescentLimits | None = None, start: Configuration = SPACE.largest):
        self.guards = Guards(SPACE, 1.0, 1.0, limits)
        self.current = start
        self.events: list[EventKind] = []

    def step(self, wanted: Configuration, at_once: bool = False, **measured: Any) -> Configuration:
        plain = Measurement(0, 0.0, self.current, self.current, arrivals_per_s=10.0, latency_s=0.1)
        measurement = replace(plain, **measured)
        bounds = self.guards.bounds(measurement)
        checked = self.guards.check(measurement, bounds, wanted, at_once=at_once)
        assert bounds.contains(checked.target)
        self.events = [event.kind for event in checked.events]
        self.current = checked.target
        return self.current


def capacity(configuration: Configuration) -> int:
    return configuration.executors * configuration.frequency_khz


@given(st.lists(configurations, min_size=2, max_size=30))
def test_no_step_gives_up_more_than_its_share(wishes: list[Configuration]) -> None:
    steps = Steps()
    seen = [steps.current, *(steps.step(wish) for wish in wishes)]
    for before, after in pairwise(seen):
        assert capacity(after) >= 0.5 * capacity(before)


@given(st.lists(configurations, min_size=1, max_size=10), configurations)
def test_more_is_had_at_once(wishes: list[Configuration], wanted: Configuration) -> None:
    steps = Steps()
    for wish in wishes:
        steps.step(wish)
    before = steps.current
    after = steps.step(wanted)
    assert after.executors >= wanted.executors
    if wanted.executors >= before.executors:
        assert after.frequency_khz >= wanted.frequency_khz


@given(configurations, st.sampled_from((0.0, 0.05, 1.9, 51.0, 2000.0)))
def test_one_rate_that_contradicts_its_neighbours_removes_nothing(
    right: Configuration, rate_per_s: float
) -> None:
    """Whatever a policy makes of it; 10 rows a second are usual here."""
    steps = Steps(start=right)
    for _ in range(5):
        steps.step(right)
    assert steps.step(SMALLEST, arrivals_per_s=rate_per_s) == right
    assert (steps.events == [EventKind.HELD_DOUBTFUL_RATE]) == (right != SMALLEST)
    assert steps.step(right) == right


def test_a_rate_that_stays_is_believed() -> None:
    steps = Steps()
    for _ in range(3):
        steps.step(SPACE.largest)
    wanted = Configuration(12, 1_600_000)
    seen = [steps.step(wanted, arrivals_per_s=0.0).frequency_khz for _ in range(3)]
    assert seen == [2_000_000, 2_000_000, 1_600_000]


@given(configurations)
def test_one_reading_removes_no_executor(right: Configuration) -> None:
    steps = Steps(start=right)
    for _ in range(5):
        steps.step(right)
    assert steps.step(SMALLEST).executors == right.executors
    assert steps.step(right) == right


def test_executors_wait_as_long_as_they_take_to_start() -> None:
    steps = Steps(DescentLimits(frequency_readings=1))
    wanted = Configuration(8, 2_000_000)
    seen = [steps.step(wanted, startup_s=7.0).executors for _ in range(9)]
    assert seen == [12] * 6 + [8] * 3


def test_three_steps_at_least() -> None:
    steps = Steps()
    assert [steps.step(Configuration(8, 2_000_000)).executors for _ in range(4)] == [12] * 2 + [
        8
    ] * 2


def test_the_highest_wish_of_the_window_counts() -> None:
    steps = Steps(DescentLimits(window_s=3.0))
    wishes = (8, 10, 8, 8, 8, 8)
    seen = [steps.step(Configuration(wish, 2_000_000)).executors for wish in wishes]
    assert seen == [12, 12, 10, 10, 8, 8]


def test_a_frequency_may_have_to_wait_for_the_next_reading() -> None:
    steps = Steps(DescentLimits(frequency_readings=2))
    seen = [steps.step(Configuration(12, 1_600_000)).frequency_khz for _ in range(3)]
    assert seen == [2_000_000, 1_600_000, 1_600_000]


def test_a_step_without_a_measurement_is_no_confirmation() -> None:
    steps = Steps(DescentLimits(frequency_readings=2))
    wanted = Configuration(12, 1_600_000)
    assert steps.step(wanted).frequency_khz == 2_000_000
    for unknown in ({"arrivals_per_s": None}, {"is_fresh": False}):
        assert steps.step(wanted, **unknown).frequency_khz == 2_000_000
    assert steps.step(wanted).frequency_khz == 1_600_000


def test_where_measurements_are_rare_the_one_before_counts() -> None:
    steps = Steps(DescentLimits(frequency_readings=1))
    steps.step(SPACE.largest)
    for _ in range(10):
        steps.step(SPACE.largest, arrivals_per_s=None)
    assert steps.step(Configuration(8, 2_000_000)).executors == 12
    for _ in range(10):
        steps.step(SPACE.largest, arrivals_per_s=None)
    assert steps.step(Configuration(8, 2_000_000)).executors == 8


def test_executors_that_are_kept_need_no_higher_frequency() -> None:
    steps = Steps(start=Configuration(12, 1_200_000))
    seen = [steps.step(Configuration(6, 2_000_000)) for _ in range(4)]
    assert seen == [Configuration(12, 1_200_000)] * 2 + [Configuration(6, 2_000_000)] * 2
    assert steps.events == []


def test_unless_they_do_not_run() -> None:
    """Half of them are lost, and the frequency is to make up for it."""
    steps = Steps(start=Configuration(12, 1_200_000))
    target = steps.step(Configuration(6, 2_000_000), observed=Configuration(6, 1_200_000))
    assert target == Configuration(12, 2_000_000)


def test_it_is_told_once() -> None:
    steps = Steps(DescentLimits(window_s=4.0, frequency_readings=1))
    told = []
    for _ in range(6):
        steps.step(Configuration(8, 2_000_000))
        told.append(steps.events)
    assert told == [[EventKind.HELD_WINDOW], [], [], [], [], []]


def test_idle_executors_are_no_capacity() -> None:
    """Of twelve, four find a task: to give up eight is to give up nothing."""
    steps = Steps(DescentLimits(window_s=2.0))
    seen = [steps.step(Configuration(4, 2_000_000), useful_executors=4) for _ in range(3)]
    assert seen[-1] == Configuration(4, 2_000_000)


def test_what_a_limit_demands_does_not_wait() -> None:
    assert Steps().step(Configuration(8, 1_200_000), at_once=True) == Configuration(8, 1_200_000)


def test_unlimited_gives_up_everything_at_once() -> None:
    assert Steps(UNLIMITED).step(SMALLEST) == SMALLEST
    steps = Steps(UNLIMITED)
    for _ in range(5):
        steps.step(SPACE.largest, arrivals_per_s=1e6)
    assert steps.step(SMALLEST, arrivals_per_s=0.0) == SMALLEST


def test_a_restored_controller_waits_on() -> None:
    class Least:
        def decide(self, _measurement: Measurement, _bounds: object) -> Decision:
            return Decision(Configuration(6, 2_000_000), "least")

    def fresh() -> Controller:
        return Controller.of(Least(), SPACE, 1.0, 1.0)

    measurement = Measurement(
        0, 0.0, SPACE.largest, SPACE.largest, arrivals_per_s=1.0, latency_s=0.1
    )
    whole, parts, restored = fresh(), fresh(), fresh()
    expected = [whole.step(measurement).target for _ in range(6)]
    found = [parts.step(measurement).target for _ in range(2)]
    restored.state.guards = load(save(parts.state.guards))
    found += [restored.step(measurement).target for _ in range(4)]
    assert found == expected
    assert len(set(found)) == 2
