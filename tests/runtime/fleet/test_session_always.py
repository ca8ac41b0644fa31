"""What holds for a session whatever goes wrong, at any call, in any order."""

from dataclasses import dataclass

from hypothesis import given
from hypothesis import strategies as st

from mpc.events import Event, EventKind
from runtime.fleet.session import LONGEST_WAIT_S, SHORTEST_LEASE_PERIOD_S, Session
from runtime.fleet.targets import HostTarget
from tests.runtime.fleet.fake_agent import (
    CODES,
    LEASE_CODES,
    MAX_KHZ,
    MIN_KHZ,
    POLICIES,
    FakeAgent,
    ManualClock,
)

TTL_S = 3 * SHORTEST_LEASE_PERIOD_S

faults = st.one_of(st.none(), st.sampled_from(("lost", "unanswered", "broken", *CODES)))
wishes = st.builds(
    HostTarget, st.one_of(st.none(), st.integers(100_000, 5_000_000)), busy=st.booleans()
)


@dataclass(frozen=True)
class Period:
    """What happens before and during one step."""

    elapsed_s: float
    wanted: HostTarget
    faults: tuple[str | None, ...]
    restarted: bool
    down: bool
    drifted: frozenset[str]


periods = st.builds(
    Period,
    st.sampled_from((0.1, 1.0, 1.0, 1.0, 5.0, 40.0)),
    wishes,
    st.lists(faults, max_size=7).map(tuple),
    st.sampled_from((False, False, False, True)),
    st.sampled_from((False, False, False, True)),
    st.frozensets(st.sampled_from(POLICIES)),
)


class Run:
    def __init__(self, take_over: bool = False) -> None:
        self.clock = ManualClock()
        self.agent = FakeAgent(self.clock)
        self.session = Session("a", self.agent.connect, 1.0, self.clock, take_over=take_over)
        self.events: list[Event] = []

    def go(self, period: Period) -> None:
        self.clock.now_s += period.elapsed_s
        if period.restarted:
            self.agent.restart()
        self.agent.down = period.down
        self.agent.drifted = set(period.drifted)
        self.agent.order(period.faults)
        self.events += self.session.step(period.wanted)
        self.agent.order(())

    def check(self) -> None:
        state = self.session.state(self.clock())
        assert self.agent.open_clients <= 1
        assert self.agent.most_open_clients <= 1
        assert self.agent.double_leases == 0
        if state.effective_khz is not None:
            assert MIN_KHZ <= state.effective_khz <= MAX_KHZ
        if state.controlled:
            assert state.reachable
        if not state.reachable:
            assert (state.power_w, state.source, state.executors) == (None, None, None)
            assert state.problem is not None
        if state.power_w is not None:
            assert abs(state.power_w - self.agent.power_w) < 1e-3

    def recover(self, wanted: HostTarget) -> None:
        """Everything works again, for as long as it may take at worst."""
        self.agent.down = False
        self.agent.drifted.clear()
        for _ in range(round(LONGEST_WAIT_S * 2 + TTL_S * 2)):
            self.clock.now_s += 1.0
            self.events += self.session.step(wanted)
            self.check()


@given(st.lists(periods, max_size=12), st.booleans())
def test_it_never_raises_never_leases_twice_and_comes_back(
    history: list[Period], take_over: bool
) -> None:
    run = Run(take_over)
    for period in history:
        run.go(period)
        run.check()
    run.recover(HostTarget(1_600_000, busy=True))
    state = run.session.state(run.clock())
    assert (state.controlled, state.problem) == (True, None)
    assert state.requested_khz == state.effective_khz == run.agent.set_khz == 1_600_000
    changes = [
        event.kind
        for event in run.events
        if event.kind in {EventKind.AGENT_LOST, EventKind.AGENT_RECOVERED}
    ]
    # Told in turns, and the last word is the good one.
    assert changes == [EventKind.AGENT_LOST, EventKind.AGENT_RECOVERED] * (len(changes) // 2)


@given(st.lists(periods, max_size=12), faults)
def test_it_ends_released_or_left_to_its_lease(
    history: list[Period], at_the_end: str | None
) -> None:
    run = Run()
    for period in history:
        run.go(period)
    run.agent.order([at_the_end])
    given_back = run.session.close()
    assert run.agent.open_clients == 0
    assert not run.session.state(run.clock()).reachable
    run.agent.expire()
    if given_back and not any(lies_about_leases(period) for period in history):
        assert (run.agent.leases.lease, run.agent.set_khz) == (None, None)
    run.clock.now_s += TTL_S
    run.agent.expire()
    assert (run.agent.leases.lease, run.agent.set_khz) == (None, None)


def lies_about_leases(period: Period) -> bool:
    """An agent that says a lease is over while it is not leaves one behind, until it ends."""
    return any(fault in LEASE_CODES for fault in period.faults)
