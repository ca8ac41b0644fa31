"""One agent as the controller sees it, with a manual clock: every way it can go wrong."""

from collections.abc import Callable
from itertools import pairwise

import pytest

from mpc.events import Event, EventKind
from runtime.agent.wire.messages import ExecutorReport
from runtime.fleet.port import AgentPort
from runtime.fleet.session import LONGEST_WAIT_S, SHORTEST_LEASE_PERIOD_S, Session
from runtime.fleet.state import HostState
from runtime.fleet.targets import HostFrequencies, HostTarget
from tests.runtime.fleet.fake_agent import (
    CALLER,
    LEASE_CODES,
    MAX_KHZ,
    MIN_KHZ,
    FakeAgent,
    ManualClock,
    policy,
)

PERIOD_S = 1.0
TTL_S = 3 * SHORTEST_LEASE_PERIOD_S
BUSY = HostTarget(1_600_000, busy=True)


class Bench:
    """A session and its agent on one clock."""

    def __init__(self, control: bool = True, take_over: bool = False) -> None:
        self.clock = ManualClock()
        self.agent = FakeAgent(self.clock)
        self.connect: Callable[[], AgentPort] = self.agent.connect
        self.session = Session(
            "a",
            self._connect_now,
            PERIOD_S,
            self.clock,
            control=control,
            take_over=take_over,
        )
        self.events: list[Event] = []

    def _connect_now(self) -> AgentPort:
        return self.connect()

    def step(self, wanted: HostTarget = BUSY, elapsed_s: float = PERIOD_S) -> HostState:
        self.clock.now_s += elapsed_s
        self.events += self.session.step(wanted)
        return self.state

    @property
    def state(self) -> HostState:
        return self.session.state(self.clock())

    @property
    def kinds(self) -> list[EventKind]:
        return [event.kind for event in self.events]


@pytest.fixture
def bench() -> Bench:
    return Bench()


def test_before_anything_nothing_is_known(bench: Bench) -> None:
    assert bench.state == HostState("a", reachable=False, problem="not reached yet")
    assert bench.agent.calls == []


def test_it_leases_sets_and_reads(bench: Bench) -> None:
    state = bench.step()
    assert bench.agent.calls == ["hello", "lease", "set_frequency", "energy", "executors"]
    assert (state.reachable, state.controlled, state.problem) == (True, True, None)
    assert (state.requested_khz, state.effective_khz) == (1_600_000, 1_600_000)
    assert state.frequencies == HostFrequencies(MIN_KHZ, MAX_KHZ)
    assert (state.power_w, state.source) == (None, "emulated")
    state = bench.step()
    assert bench.agent.calls[5:] == ["renew", "energy", "executors"]
    assert state.power_w == pytest.approx(50.0)
    assert state.source == "emulated"
    assert bench.events == []


def test_without_a_request_the_frequency_is_left_alone(bench: Bench) -> None:
    state = bench.step(HostTarget())
    assert "set_frequency" not in bench.agent.calls
    assert (state.controlled, state.requested_khz, state.effective_khz) == (True, None, MAX_KHZ)


def test_only_a_change_is_sent(bench: Bench) -> None:
    for khz in (1_600_000, 1_600_000, 1_400_000, 1_400_000):
        bench.step(HostTarget(khz, busy=True))
    assert bench.agent.counted("set_frequency") == 2
    assert bench.state.effective_khz == 1_400_000


@pytest.mark.parametrize(
    ("floor_khz", "wanted", "target_khz"),
    [
        (None, HostTarget(1_600_000, busy=False), MIN_KHZ),
        (1_500_000, HostTarget(1_600_000, busy=False), 1_500_000),
        (1_500_000, HostTarget(1_300_000, busy=True), 1_500_000),
        (None, HostTarget(9_000_000, busy=True), MAX_KHZ),
        (None, HostTarget(100_000, busy=True), MIN_KHZ),
        (100_000, HostTarget(100_000, busy=True), MIN_KHZ),
        (9_000_000, HostTarget(1_600_000, busy=False), MAX_KHZ),
    ],
)
def test_frequencies_stay_in_the_range_of_the_host(
    bench: Bench, floor_khz: int | None, wanted: HostTarget, target_khz: int
) -> None:
    bench.agent.floor_khz = floor_khz
    state = bench.step(wanted)
    assert state.requested_khz == state.effective_khz == bench.agent.set_khz == target_khz
    assert bench.events == []


def test_unequal_policies_get_what_all_of_them_take(bench: Bench) -> None:
    bench.agent.policies = (
        policy("policy0", 800_000, 1_800_000),
        policy("policy1", 1_200_000, 3_000_000),
    )
    assert bench.step(HostTarget(2_500_000, busy=True)).effective_khz == 1_800_000
    assert bench.step(HostTarget(2_500_000, busy=False)).effective_khz == 1_200_000


def test_a_host_without_frequencies_is_read_all_the_same(bench: Bench) -> None:
    bench.agent.policies = ()
    bench.step()
    state = bench.step()
    assert (state.reachable, state.requested_khz, state.effective_khz) == (True, None, None)
    assert state.power_w == pytest.approx(50.0)


def test_an_agent_that_never_answers_is_told_once_and_tried_ever_more_rarely(bench: Bench) -> None:
    bench.agent.down = True
    tried_at_s = []
    for _ in range(200):
        before = len(bench.agent.calls)
        state = bench.step()
        if len(bench.agent.calls) > before:
            tried_at_s.append(bench.clock())
    assert bench.kinds == [EventKind.AGENT_LOST]
    assert (state.reachable, state.problem) == (False, "agent at here: connection refused")
    waits_s = [late - early for early, late in pairwise(tried_at_s)]
    assert waits_s[:5] == [1.0, 2.0, 4.0, 8.0, 16.0]
    assert set(waits_s[5:]) == {LONGEST_WAIT_S}
    bench.agent.down = False
    while not bench.state.reachable:
        bench.step()
    assert bench.kinds == [EventKind.AGENT_LOST, EventKind.AGENT_RECOVERED]
    assert bench.state.effective_khz == 1_600_000


def test_a_lost_agent_leaves_no_figures_behind(bench: Bench) -> None:
    bench.agent.executors = [ExecutorReport("app", "0", 7, 1, 500)]
    bench.step()
    assert bench.step().power_w is not None
    bench.agent.down = True
    state = bench.step()
    assert (state.reachable, state.controlled) == (False, False)
    assert (state.effective_khz, state.power_w, state.source) == (None, None, None)
    assert state.executors is None
    assert state.requested_khz == 1_600_000
    assert bench.kinds == [EventKind.AGENT_LOST]


@pytest.mark.parametrize("call", range(5))
@pytest.mark.parametrize("fault", ["lost", "unanswered", "broken"])
def test_whichever_call_fails_it_comes_back(bench: Bench, call: int, fault: str) -> None:
    bench.agent.order([None] * call + [fault])
    state = bench.step()
    assert not state.reachable
    assert bench.agent.open_clients == 0
    for _ in range(10):
        bench.step()
    assert bench.state.controlled
    assert bench.state.effective_khz == bench.agent.set_khz == 1_600_000
    # A lease that was granted without an answer is its own, and has to end first all the same.
    waited = [EventKind.FREQUENCY_REFUSED] if call == 1 and fault != "lost" else []
    assert bench.kinds == [EventKind.AGENT_LOST, *waited, EventKind.AGENT_RECOVERED]
    assert bench.agent.most_open_clients == 1


def test_a_client_that_cannot_be_made_is_an_agent_that_cannot_be_reached(bench: Bench) -> None:
    def fail() -> AgentPort:
        raise FileNotFoundError("/etc/foresight/controller.key")

    works, bench.connect = bench.connect, fail
    assert "controller.key" in (bench.step().problem or "")
    bench.connect = works
    assert bench.step().reachable
    assert bench.kinds == [EventKind.AGENT_LOST, EventKind.AGENT_RECOVERED]


@pytest.mark.parametrize("code", LEASE_CODES)
def test_a_lease_that_is_over_is_asked_for_again(bench: Bench, code: str) -> None:
    bench.step()
    bench.agent.end_lease()
    bench.agent.order([code])
    state = bench.step()
    assert bench.agent.calls[5:] == [
        "renew",
        "hello",
        "lease",
        "set_frequency",
        "energy",
        "executors",
    ]
    assert (state.controlled, state.effective_khz) == (True, bench.agent.set_khz)
    assert bench.events == []


def test_an_agent_that_restarted_gets_everything_anew(bench: Bench) -> None:
    bench.step()
    bench.step()
    bench.agent.restart()
    bench.agent.floor_khz = 1_700_000
    state = bench.step()
    assert (state.controlled, state.effective_khz) == (True, 1_700_000)
    # Counters of two starts are not subtracted.
    assert state.power_w is None
    assert bench.step().power_w == pytest.approx(50.0)


def test_a_lease_of_somebody_else_is_waited_for(bench: Bench) -> None:
    bench.agent.grant("somebody", 20_000, take_over=False)
    state = bench.step()
    assert (state.reachable, state.controlled) == (True, False)
    assert "somebody holds the lease" in (state.problem or "")
    assert (state.requested_khz, state.effective_khz) == (1_600_000, MAX_KHZ)
    bench.step()
    assert bench.state.power_w is not None
    assert bench.kinds == [EventKind.FREQUENCY_REFUSED]
    assert "lease_held" in bench.events[0].detail
    for _ in range(70):
        bench.step()
    assert bench.state.controlled
    assert bench.state.effective_khz == 1_600_000
    assert bench.state.problem is None
    assert bench.kinds == [EventKind.FREQUENCY_REFUSED]


def test_whoever_took_over_is_not_fought(bench: Bench) -> None:
    """A newer controller of the same name, as after a restart of this one elsewhere."""
    bench.step()
    newer = bench.agent.grant(CALLER, 60_000, take_over=True)
    for _ in range(20):
        bench.step()
    lease = bench.agent.leases.lease
    assert lease is not None
    assert lease.epoch == newer.epoch
    assert not bench.state.controlled
    assert bench.session.close()
    assert bench.agent.leases.lease == lease


def test_a_lease_of_ours_outlives_its_connection(bench: Bench) -> None:
    bench.step()
    bench.agent.order(["lost"])
    bench.step()
    state = bench.step()
    assert (state.controlled, state.effective_khz) == (True, 1_600_000)
    assert bench.agent.epoch == 2
    assert bench.kinds == [EventKind.AGENT_LOST, EventKind.AGENT_RECOVERED]


def test_a_restarted_controller_takes_its_lease_over() -> None:
    bench = Bench(take_over=True)
    bench.agent.grant(CALLER, 60_000, take_over=False)
    assert bench.step().controlled


@pytest.mark.parametrize("code", ["frequency_denied", "too_soon", "unsupported", "host_fault"])
def test_a_refused_frequency_is_told_once_and_tried_again(bench: Bench, code: str) -> None:
    bench.step(HostTarget())
    bench.agent.order([None, code, None, None, None, code])
    for _ in range(2):
        state = bench.step()
        assert (state.controlled, state.problem) == (True, f"told {code}")
        assert state.effective_khz == MAX_KHZ
    assert bench.kinds == [EventKind.FREQUENCY_REFUSED]
    for _ in range(3):
        bench.step()
    assert (bench.state.effective_khz, bench.state.problem) == (1_600_000, None)
    assert bench.kinds == [EventKind.FREQUENCY_REFUSED]


def test_another_frequency_is_tried_at_once_after_a_refusal(bench: Bench) -> None:
    bench.step(HostTarget())
    for khz in (1_600_000, 1_500_000):
        bench.agent.order([None, "frequency_denied"])
        bench.step(HostTarget(khz, busy=True))
    assert bench.kinds == [EventKind.FREQUENCY_REFUSED] * 2
    assert bench.step(HostTarget(1_400_000, busy=True)).effective_khz == 1_400_000


@pytest.mark.parametrize("code", LEASE_CODES)
def test_a_lease_that_ends_before_the_frequency_is_set(bench: Bench, code: str) -> None:
    bench.step(HostTarget())
    bench.agent.order([None, code])
    assert not bench.step().controlled
    for _ in range(10):
        bench.step()
    assert (bench.state.controlled, bench.state.effective_khz) == (True, 1_600_000)


def test_a_host_that_somebody_else_changed_is_told_and_left_alone(bench: Bench) -> None:
    bench.step()
    bench.agent.drifted = {"policy1"}
    for _ in range(12):
        bench.step()
    assert bench.kinds == [EventKind.HOST_DRIFTED]
    assert bench.events[0].detail.startswith("a: somebody else changed policy1")
    assert f"a: {bench.state.problem}" == bench.events[0].detail
    assert bench.state.effective_khz == (1_600_000 + 1_700_000) / 2
    bench.step(HostTarget(1_400_000, busy=True))
    assert bench.state.effective_khz == (1_400_000 + 1_700_000) / 2
    bench.agent.drifted = {"policy0", "policy1"}
    bench.step(HostTarget(1_300_000, busy=True))
    assert bench.state.effective_khz == 1_700_000
    assert bench.kinds == [EventKind.HOST_DRIFTED] * 2
    assert bench.state.controlled


def test_a_host_without_a_meter_is_controlled_all_the_same(bench: Bench) -> None:
    bench.agent.has_meter = False
    for _ in range(3):
        state = bench.step()
    assert (state.effective_khz, state.power_w, state.source) == (1_600_000, None, None)
    assert state.problem == "no energy can be read on this host"
    bench.agent.has_meter = True
    bench.step()
    assert bench.step().power_w == pytest.approx(50.0)
    assert bench.state.problem is None


def test_refused_questions_leave_the_rest_standing(bench: Bench) -> None:
    bench.step()
    bench.agent.order(["rate_limited", "rate_limited", "rate_limited"])
    state = bench.step()
    assert (state.reachable, state.controlled, state.effective_khz) == (True, True, 1_600_000)
    assert (state.power_w, state.executors) == (None, None)
    assert "rate_limited" in (state.problem or "")
    assert bench.events == []


def test_cpu_time_never_falls(bench: Bench) -> None:
    reported_ms = [500, 900, 100, 400]
    seen_s = []
    for cpu_ms in reported_ms:
        bench.agent.executors = [ExecutorReport("app", "3", 7, 2, cpu_ms)]
        executors = bench.step().executors
        assert executors is not None
        seen_s.append(executors[0].cpu_s)
    assert seen_s == [0.5, 0.9, 1.0, 1.3]


def test_what_is_too_old_is_not_told(bench: Bench) -> None:
    bench.step()
    bench.step()
    bench.clock.now_s += TTL_S
    assert bench.state.power_w is not None
    assert bench.state.age_s == TTL_S
    bench.clock.now_s += 0.1
    state = bench.state
    assert (state.controlled, state.effective_khz, state.power_w, state.executors) == (
        False,
        None,
        None,
        None,
    )
    assert state.problem == "no answer for 6 s"


def test_reading_alone_changes_nothing() -> None:
    bench = Bench(control=False)
    for _ in range(3):
        state = bench.step()
    assert set(bench.agent.calls) == {"hello", "energy", "executors", "status"}
    assert (state.controlled, state.requested_khz, state.effective_khz) == (False, None, MAX_KHZ)
    assert state.power_w == pytest.approx(50.0)
    assert bench.session.close()
    assert bench.agent.open_clients == 0


def test_closing_gives_the_host_back(bench: Bench) -> None:
    bench.step()
    assert bench.session.close()
    assert (bench.agent.leases.lease, bench.agent.set_khz) == (None, None)
    assert bench.agent.open_clients == 0
    assert not bench.state.reachable
    assert bench.session.close()


@pytest.mark.parametrize("fault", ["lost", "unanswered", "stopping", "broken"])
def test_a_release_that_fails_is_left_to_the_lease(bench: Bench, fault: str) -> None:
    bench.step()
    bench.agent.order([fault])
    assert not bench.session.close()
    assert bench.agent.open_clients == 0
    bench.clock.now_s += TTL_S
    bench.agent.expire()
    assert (bench.agent.leases.lease, bench.agent.set_khz) == (None, None)


def test_a_lease_that_was_granted_without_an_answer_is_not_forgotten(bench: Bench) -> None:
    bench.agent.order([None, "unanswered"])
    bench.step()
    assert bench.agent.leases.lease is not None
    assert not bench.session.close()


def test_without_the_lease_the_host_has_its_own_frequency(bench: Bench) -> None:
    bench.step()
    bench.agent.end_lease()
    bench.agent.order([None, None, "unavailable"])
    state = bench.step(HostTarget())
    assert (state.controlled, state.effective_khz) == (False, MAX_KHZ)


def test_closing_before_the_beginning_is_nothing(bench: Bench) -> None:
    assert bench.session.close()
    assert bench.agent.calls == []
