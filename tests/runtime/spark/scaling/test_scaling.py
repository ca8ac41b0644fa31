"""The state machine that moves an application to a number of executors, on a fake Master."""

import pytest

from mpc.events import EventKind
from runtime.spark.scaling.executors import SchedulerUnavailable
from runtime.spark.scaling.scaler import ExecutorScaler, ScalingState
from runtime.spark.sensing.reading import BatchMoment
from tests.runtime.spark.fake_scheduler import FakeScheduler

GRACE_S = 5.0
PATIENCE_S = 60.0


@pytest.fixture
def master() -> FakeScheduler:
    master = FakeScheduler()
    master.launch(2)
    return master


def make_scaler(
    master: FakeScheduler, min_executors: int = 1, max_executors: int = 8
) -> ExecutorScaler:
    scaler = ExecutorScaler(
        master,
        master.clock_s,
        min_executors=min_executors,
        max_executors=max_executors,
        grace_s=GRACE_S,
        patience_s=PATIENCE_S,
    )
    scaler.observe()
    return scaler


def advance(scaler: ExecutorScaler) -> ScalingState:
    """One more step towards the same number."""
    assert scaler._wanted is not None
    return scaler.steer(scaler._wanted)


def kinds(state: ScalingState) -> list[EventKind]:
    return [event.kind for event in state.events]


def test_watching_orders_nothing(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    master.crash("0")
    state = scaler.observe()
    assert (state.wanted, state.requested, state.observed) == (None, 1, 1)
    assert kinds(state) == [EventKind.EXECUTOR_LOST]
    assert master.orders == []


def test_growing_sets_the_target_once_and_learns_how_long_it_takes(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    state = scaler.steer(4)
    assert (state.requested, state.observed, state.pending) == (4, 2, 2)
    master.advance(3.0)
    state = scaler.steer(4)
    assert (state.requested, state.observed, state.pending) == (4, 4, 0)
    assert kinds(state) == [EventKind.EXECUTOR_STARTED, EventKind.EXECUTOR_STARTED]
    assert master.orders == [("target", 4)]
    assert scaler.start_up.register.samples_s == (3.0, 3.0)


def test_the_registration_counts_not_the_step_that_noticed_it(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    scaler.steer(3)
    master.advance(10.0)
    advance(scaler)
    assert scaler.start_up.register.samples_s == (3.0,)


def test_the_first_finished_task_ends_the_warm_up(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    scaler.steer(3)
    master.advance(3.0)
    advance(scaler)
    assert not scaler.start_up.warm.samples_s
    master.advance(4.0)
    master.cluster["2"].completed_tasks = 1
    advance(scaler)
    advance(scaler)
    assert scaler.start_up.warm.samples_s == (4.0,)


def test_shrinking_sets_the_target_and_drains(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    state = scaler.steer(1)
    assert [order[0] for order in master.orders][-2:] == ["target", "decommission"]
    assert {order for order in master.orders if order[0] == "target"} == {("target", 1)}
    assert (state.requested, state.observed, state.leaving) == (1, 1, 1)
    assert kinds(state) == [EventKind.EXECUTOR_DRAINING]
    master.advance(1.0)
    state = advance(scaler)
    assert (state.observed, state.leaving, kinds(state)) == (1, 0, [EventKind.EXECUTOR_DRAINED])
    master.advance(PATIENCE_S)
    assert len(master.cluster) == 1


def test_the_executors_that_hold_least_leave(master: FakeScheduler) -> None:
    master.launch(6)
    scaler = make_scaler(master)
    state, busy, stored, shuffled, empty, young = "012345"
    master.cluster[state].state_stores = 1
    master.cluster[busy].running_tasks = 1
    master.cluster[stored].stored_bytes = 10
    master.cluster[shuffled].shuffle_bytes = 10
    master.cluster[young].ready_s = master.now_s - 1
    expected = [young, empty, shuffled, stored, busy]
    for count, victim in zip((5, 4, 3, 2, 1), expected, strict=True):
        scaler.steer(count)
        assert victim in master.draining()
        assert state not in master.draining()


def test_executors_are_drained_between_two_batches(master: FakeScheduler) -> None:
    master.launch(3)
    scaler = make_scaler(master)
    scaler.steer(3)
    within = BatchMoment(between=False, longest_s=10.0)
    scaler.steer(1, within)
    master.advance(5.0)
    state = scaler.steer(1, within)
    assert (state.requested, state.observed, master.draining()) == (1, 3, set())
    scaler.steer(1, BatchMoment(between=True, longest_s=10.0))
    assert len(master.draining()) == 2


def test_where_batches_leave_no_time_between_them_it_is_not_waited_for_ever(
    master: FakeScheduler,
) -> None:
    master.launch(3)
    scaler = make_scaler(master)
    within = BatchMoment(between=False, longest_s=10.0)
    scaler.steer(1, within)
    master.advance(20.0)
    scaler.steer(1, within)
    assert len(master.draining()) == 2


def test_a_task_of_a_long_batch_is_not_killed(master: FakeScheduler) -> None:
    master.drain_s = 1e9
    master.launch(2)
    scaler = make_scaler(master)
    moment = BatchMoment(between=True, longest_s=60.0)
    scaler.steer(1, moment)
    master.advance(100.0)
    assert scaler.steer(1, moment).leaving == 1
    assert "kill" not in dict(master.orders)
    master.advance(30.0)
    scaler.steer(1, moment)
    assert "kill" in dict(master.orders)


def test_a_drain_that_hangs_ends_with_a_kill_after_the_grace_period(master: FakeScheduler) -> None:
    master.drain_s = 1e9
    scaler = make_scaler(master)
    scaler.steer(1)
    master.advance(GRACE_S - 0.1)
    assert advance(scaler).leaving == 1
    assert not [order for order in master.orders if order[0] == "kill"]
    master.advance(0.1)
    advance(scaler)
    (kill,) = [order for order in master.orders if order[0] == "kill"]
    state = advance(scaler)
    assert (state.observed, state.leaving, kinds(state)) == (1, 0, [EventKind.EXECUTOR_KILLED])
    assert master.target == 1
    assert kill in [("kill", ("0",)), ("kill", ("1",))]


def test_bounds_hold_whatever_is_asked_for(master: FakeScheduler) -> None:
    scaler = make_scaler(master, min_executors=2, max_executors=3)
    assert scaler.steer(0).requested == 2
    assert scaler.steer(-5).requested == 2
    assert scaler.steer(100).requested == 3
    assert master.draining() == set()


def test_a_smaller_request_waits_for_executors_that_are_starting(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    scaler.steer(4)
    master.advance(1.0)
    state = scaler.steer(2)
    assert (state.wanted, state.requested, state.pending) == (2, 4, 2)
    assert kinds(state) == [EventKind.SCALE_IN_DELAYED]
    assert kinds(scaler.steer(1)) == []
    assert master.target == 4
    master.advance(2.0)
    state = scaler.steer(2)
    assert (state.requested, state.observed, state.leaving) == (2, 2, 2)


def test_a_change_of_mind_while_it_waits_costs_nothing(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    scaler.steer(4)
    scaler.steer(2)
    scaler.steer(4)
    master.advance(3.0)
    state = advance(scaler)
    assert (state.requested, state.observed) == (4, 4)
    assert master.orders == [("target", 4)]


def test_a_start_that_never_ends_does_not_hold_for_ever(master: FakeScheduler) -> None:
    master.slots = 3
    scaler = make_scaler(master)
    scaler.steer(8)
    master.advance(3.0)
    assert scaler.steer(1).requested == 8
    master.advance(PATIENCE_S)
    state = scaler.steer(1)
    assert (state.requested, state.observed, state.leaving) == (1, 1, 2)


def test_executors_that_die_as_they_start_do_not_hold_for_ever(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    scaler.steer(4)
    for _ in range(30):
        state = scaler.steer(2)
        master.advance(3.0)
        for name in master.ids()[2:]:
            master.crash(name)
    assert state.requested == 2


def test_a_full_cluster_is_reported_and_asked_again(master: FakeScheduler) -> None:
    master.slots = 3
    scaler = make_scaler(master)
    scaler.steer(5)
    master.advance(3.0)
    assert advance(scaler).pending == 2
    # A Master that was restarted meanwhile has forgotten the target.
    master.target, master.slots = 3, 16
    master.advance(PATIENCE_S)
    state = advance(scaler)
    assert EventKind.EXECUTORS_STALLED in kinds(state)
    master.advance(3.0)
    assert advance(scaler).observed == 5
    # A slot that comes late and a node that takes its time look the same; the median forgives one.
    assert max(scaler.start_up.register.samples_s) > PATIENCE_S
    assert scaler.start_up.register.seconds < PATIENCE_S


def test_growing_while_others_leave(master: FakeScheduler) -> None:
    master.drain_s = 4.0
    scaler = make_scaler(master)
    scaler.steer(1)
    state = scaler.steer(2)
    assert (state.requested, state.observed, state.pending, state.leaving) == (2, 1, 1, 1)
    master.advance(4.0)
    advance(scaler)
    master.advance(3.0)
    state = advance(scaler)
    assert (state.observed, state.pending, state.leaving) == (2, 0, 0)
    # It began after the drain, which is not its own delay.
    assert scaler.start_up.register.samples_s == ()


def test_lost_executors_are_replaced_and_told(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    scaler.steer(3)
    master.advance(3.0)
    advance(scaler)
    for name in master.ids():
        master.crash(name)
    state = advance(scaler)
    assert (state.observed, state.pending) == (0, 3)
    assert kinds(state) == [EventKind.EXECUTOR_LOST] * 3
    hosts = {event.detail.split()[2] for event in state.events}
    assert hosts == {"127.0.0.2:", "127.0.0.3:"}
    master.advance(3.0)
    assert advance(scaler).observed == 3


def test_a_replacement_is_a_start_in_flight_too(master: FakeScheduler) -> None:
    """One came and another was lost within the same step."""
    scaler = make_scaler(master)
    scaler.steer(3)
    scaler.steer(1)
    master.crash("0")
    master.advance(3.0)
    master.crash(master.ids()[0])
    state = advance(scaler)
    assert (state.requested, state.observed, state.pending) == (3, 2, 1)


def test_surplus_executors_that_arrive_late_are_drained(master: FakeScheduler) -> None:
    """An application starts with all that `spark.cores.max` allows."""
    scaler = make_scaler(master)
    master.target = 6
    master.advance(0.0)
    scaler.steer(2)
    master.advance(3.0)
    state = advance(scaler)
    assert (state.observed, state.leaving) == (2, 4)
    master.advance(1.0)
    assert advance(scaler).leaving == 0
    assert master.target == 2


def test_an_unreachable_driver_loses_no_order(master: FakeScheduler) -> None:
    scaler = make_scaler(master)
    master.is_reachable = False
    with pytest.raises(SchedulerUnavailable):
        scaler.steer(4)
    master.is_reachable = True
    assert scaler.steer(4).requested == 4
    assert master.target == 4


def test_impossible_bounds_are_refused(master: FakeScheduler) -> None:
    for bounds in ((0, 3), (4, 3)):
        with pytest.raises(ValueError, match="1 <= min <= max"):
            make_scaler(master, *bounds)


def test_watching_gives_no_order_in_the_middle_of_a_change(master: FakeScheduler) -> None:
    """Neither while executors start, nor while they drain, nor after the grace period."""
    scaler = make_scaler(master)
    scaler.steer(4)
    orders = list(master.orders)
    for _ in range(3):
        master.advance(2.0)
        scaler.observe()
    assert master.orders == orders
    master.drain_s = 1e9  # none of them ends by itself
    assert scaler.steer(1).leaving == 3
    orders = list(master.orders)
    for _ in range(5):
        master.advance(GRACE_S)
        state = scaler.observe()
    assert master.orders == orders
    assert (state.requested, state.observed, state.leaving) == (1, 1, 3)
    assert kinds(scaler.steer(1)) == []
    assert master.orders[-1][0] == "kill"
