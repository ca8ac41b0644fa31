"""Whatever a policy asks for, the guards keep their promises."""

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from mpc.descent_limits import UNLIMITED, DescentLimits
from mpc.events import EventKind
from mpc.guards import Checked, Guards
from mpc.scale_out_trial import FIRST_CEILING_STEPS
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement

SPACE = ConfigurationSpace(2, 8, (1_000_000, 1_500_000, 2_000_000))
TARGET_S = 1.0

configurations = st.builds(
    Configuration, st.integers(-3, 20), st.sampled_from((500_000, 1_000_000, 1_400_000, 9_000_000))
)
inside = st.builds(Configuration, st.integers(2, 8), st.sampled_from(SPACE.frequencies_khz))


def measured(
    current: Configuration,
    arrivals_per_s: float | None = 100.0,
    latency_s: float | None = 0.5,
    batches: tuple[BatchSample, ...] = (),
    useful_executors: int | None = None,
) -> Measurement:
    return Measurement(
        0,
        0.0,
        current,
        current,
        arrivals_per_s=arrivals_per_s,
        latency_s=latency_s,
        batches=batches,
        useful_executors=useful_executors,
    )


def check(guards: Guards, measurement: Measurement, wanted: Configuration) -> Checked:
    """One step with a policy that knows no bounds."""
    bounds = guards.bounds(measurement)
    checked = guards.check(measurement, bounds, wanted)
    assert bounds.contains(checked.target)
    return checked


def kinds(guarded: Checked) -> list[EventKind]:
    return [event.kind for event in guarded.events]


@given(st.lists(st.tuples(inside, configurations, st.booleans(), st.none() | st.integers(1, 9))))
def test_promises_over_any_history(
    steps: list[tuple[Configuration, Configuration, bool, int | None]],
) -> None:
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    for current, wanted, fresh, useful in steps:
        batch = BatchSample(100, 1.0, current)
        late = measured(current, 100.0 if fresh else None, 2.0, (batch,) * 3, useful)
        guarded = check(guards, late, wanted)
        target = guarded.target
        assert 2 <= target.executors <= 8
        assert target.frequency_khz in SPACE.frequencies_khz
        if not fresh:
            assert target.executors >= current.executors
            assert target.frequency_khz >= current.frequency_khz
        if useful is not None:
            assert target.executors <= max(useful, current.executors, 2)


def test_a_good_decision_passes_unchanged() -> None:
    wanted = Configuration(5, 1_500_000)
    calm = measured(Configuration(4, 2_000_000), useful_executors=8)
    assert check(Guards(SPACE, TARGET_S, 1.0, UNLIMITED), calm, wanted) == Checked(wanted, ())


def test_stale_measurements_may_still_scale_out() -> None:
    stale = measured(Configuration(4, 2_000_000), arrivals_per_s=None)
    guarded = check(Guards(SPACE, TARGET_S, 1.0, UNLIMITED), stale, Configuration(6, 1_000_000))
    assert guarded.target == Configuration(6, 2_000_000)
    assert kinds(guarded) == [EventKind.HELD_STALE_MEASUREMENT]


def test_executors_without_tasks_are_not_asked_for() -> None:
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    wanted = Configuration(8, 2_000_000)
    narrow = measured(Configuration(2, 2_000_000), useful_executors=3)
    guarded = check(guards, narrow, wanted)
    assert guarded.target.executors == 3
    assert kinds(guarded) == [EventKind.HELD_USEFUL_TASKS]


def test_executors_without_tasks_are_given_up_when_they_had_none_for_a_while() -> None:
    """Not at once: fewer tasks may be the matter of one batch. Late or not: they are no loss."""
    guards = Guards(SPACE, TARGET_S, 1.0, DescentLimits(window_s=4.0))
    late = measured(Configuration(8, 2_000_000), latency_s=5.0, useful_executors=3)
    wanted = Configuration(8, 2_000_000)
    assert [check(guards, late, wanted).target.executors for _ in range(4)] == [8, 8, 8, 3]
    narrow = measured(Configuration(3, 2_000_000), latency_s=5.0, useful_executors=2)
    assert check(guards, narrow, Configuration(2, 1_000_000)).target == Configuration(3, 2_000_000)


def test_a_late_stream_keeps_its_frequency_also_where_executors_are_capped() -> None:
    """A plan for more executors at a lower frequency, of which a batch has tasks for fewer."""
    guards = Guards(SPACE, TARGET_S, 1.0, DescentLimits(window_s=0.0))
    late = measured(Configuration(4, 2_000_000), latency_s=10.0, useful_executors=4)
    guarded = check(guards, late, Configuration(8, 1_000_000))
    assert guarded.target == Configuration(4, 2_000_000)


def test_without_a_fresh_reading_of_every_query_nothing_is_given_up() -> None:
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    current, less = Configuration(6, 1_500_000), Configuration(2, 1_000_000)
    silent = replace(measured(current), is_fresh=False)
    guarded = check(guards, silent, less)
    assert guarded.target == current
    assert kinds(guarded) == [EventKind.HELD_STALE_MEASUREMENT]
    assert check(guards, measured(current), less).target == less


def test_a_policy_that_plans_within_its_bounds_is_told_once_what_they_are() -> None:
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    narrow = measured(Configuration(2, 2_000_000), useful_executors=3)
    events = []
    for executors in (2, 3, 3, 2, 3):
        bounds = guards.bounds(narrow)
        assert bounds.space.max_executors == 3
        planned = guards.check(narrow, bounds, Configuration(executors, 2_000_000))
        events.append(kinds(planned))
    told = [EventKind.HELD_USEFUL_TASKS]
    assert events == [[], told, [], [], told]


def test_the_end_of_what_there_is_is_told() -> None:
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    most = SPACE.largest
    assert kinds(check(guards, measured(most, latency_s=3.0), most)) == [EventKind.AT_MAXIMUM]
    assert kinds(check(guards, measured(most, latency_s=0.3), most)) == []


class Overload:
    """A target that stays broken, and batches whose speed depends on the executors as told."""

    def __init__(self, rows_per_s: dict[int, float]) -> None:
        self.guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
        self.rows_per_s = rows_per_s
        self.current = Configuration(2, 2_000_000)

    def step(self, wanted: int, latency_s: float = 5.0) -> Checked:
        batch = BatchSample(1000, 1000 / self.rows_per_s[self.current.executors], self.current)
        late = measured(self.current, latency_s=latency_s, batches=(batch, batch))
        guarded = check(self.guards, late, Configuration(wanted, 2_000_000))
        self.current = guarded.target
        return guarded


def test_a_scale_out_that_brought_nothing_is_undone_and_not_repeated_for_a_while() -> None:
    plant = Overload({2: 500.0, 4: 505.0})
    told = [kinds(plant.step(2)) for _ in range(4)]
    assert told == [[]] * 4
    history = [(kinds(plant.step(4)), plant.current.executors) for _ in range(80)]
    found = history.index(([EventKind.INEFFECTIVE_SCALE_OUT], 2))
    assert found < 6
    held = history[found + 1 : found + FIRST_CEILING_STEPS]
    assert all(step == ([EventKind.HELD_INEFFECTIVE], 2) for step in held)
    assert history[found + FIRST_CEILING_STEPS][1] == 4, "tried again later"


def test_a_second_failure_is_remembered_longer() -> None:
    plant = Overload({2: 500.0, 4: 505.0})
    for _ in range(4):
        plant.step(2)
    undone = [
        step
        for step in range(4 * FIRST_CEILING_STEPS)
        if EventKind.INEFFECTIVE_SCALE_OUT in kinds(plant.step(4))
    ]
    assert len(undone) == 2 or undone[2] - undone[1] > undone[1] - undone[0]
    assert len(undone) >= 2


def test_a_scale_out_that_helps_stays() -> None:
    plant = Overload({2: 500.0, 4: 900.0})
    for _ in range(4):
        plant.step(2)
    assert all(kinds(plant.step(4)) == [] for _ in range(30))
    assert plant.current.executors == 4


def test_a_higher_frequency_is_no_merit_of_the_executors() -> None:
    """The speed doubled with the clock alone: four executors do what two did."""
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    slow, fast = Configuration(2, 1_000_000), Configuration(4, 2_000_000)
    for current in [slow] * 4 + [fast] * 10:
        rate = current.frequency_khz / 2_000
        batch = BatchSample(1000, 1000 / rate, current)
        late = measured(current, latency_s=5.0, batches=(batch, batch))
        guarded = check(guards, late, fast)
        if EventKind.INEFFECTIVE_SCALE_OUT in kinds(guarded):
            assert guarded.target == Configuration(2, 2_000_000)
            return
    raise AssertionError("not noticed")


def test_a_scale_out_in_time_is_not_judged() -> None:
    """The target holds throughout, so nothing tells what the executors would have brought."""
    plant = Overload({2: 500.0, 4: 500.0})
    for _ in range(4):
        plant.step(2, latency_s=0.5)
    assert all(kinds(plant.step(4, latency_s=0.5)) == [] for _ in range(30))


def test_nothing_is_given_up_while_the_target_is_missed() -> None:
    current, less = Configuration(6, 1_500_000), Configuration(2, 1_000_000)
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    guarded = check(guards, measured(current, latency_s=5.0), less)
    assert guarded.target == current
    assert kinds(guarded) == [EventKind.HELD_VIOLATION]
    assert check(guards, measured(current, latency_s=0.5), less).target == less


def test_a_late_stream_may_have_more_of_either() -> None:
    guards = Guards(SPACE, TARGET_S, 1.0, UNLIMITED)
    late = measured(Configuration(6, 1_000_000), latency_s=5.0)
    assert guards.bounds(late).space == ConfigurationSpace(6, 8, SPACE.frequencies_khz)
    late = measured(Configuration(6, 1_500_000), latency_s=5.0)
    assert guards.bounds(late).space == ConfigurationSpace(6, 8, (1_500_000, 2_000_000))
