"""Many agents at once, in real threads: the loop never waits for any of them."""

import threading
from collections.abc import Callable, Iterator

import pytest

from mpc.events import Event, EventKind
from runtime.agent.wire.messages import Hello
from runtime.fleet.fleet import Fleet
from runtime.fleet.state import FleetState
from tests.runtime.agent.running_agent import PATIENCE_S, wait_for
from tests.runtime.fleet.fake_agent import MIN_KHZ, FakeAgent, FakeClient, ManualClock

PERIOD_S = 0.01


class HangingClient(FakeClient):
    """Does not answer until the test is over."""

    def __init__(self, agent: FakeAgent, gate: threading.Event) -> None:
        super().__init__(agent)
        self._gate = gate

    def hello(self) -> Hello:
        assert self._gate.wait(PATIENCE_S)
        return super().hello()


@pytest.fixture
def clock() -> ManualClock:
    return ManualClock()


@pytest.fixture
def agents(clock: ManualClock) -> dict[str, FakeAgent]:
    return {name: FakeAgent(clock) for name in ("a", "b", "c")}


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    event = threading.Event()
    yield event
    event.set()


def wait_until(fleet: Fleet, holds: Callable[[FleetState], bool], what: str) -> FleetState:
    return wait_for(lambda: state if holds(state := fleet.state()) else None, what)


def host_at(name: str, khz: int) -> Callable[[FleetState], bool]:
    return lambda state: state.host(name).effective_khz == khz


def busy_at(khz: int) -> Callable[[FleetState], bool]:
    """Whether every busy host runs at this frequency; the slowest alone does not tell."""
    return lambda state: all(
        host.effective_khz == khz for host in state.hosts if host.name in state.busy_hosts
    )


def connections(agents: dict[str, FakeAgent]) -> dict[str, Callable[[], FakeClient]]:
    return {name: agent.connect for name, agent in agents.items()}


def test_busy_hosts_get_the_frequency_and_the_others_their_floor(
    agents: dict[str, FakeAgent], clock: ManualClock
) -> None:
    with Fleet(connections(agents), PERIOD_S, clock=clock) as fleet:
        wait_until(fleet, lambda state: all(host.controlled for host in state.hosts), "leases")
        assert all(agent.set_khz is None for agent in agents.values())
        fleet.request(1_600_000, ["a", "c"])
        state = wait_until(fleet, busy_at(1_600_000), "a frequency")
        assert state.frequency_khz == 1_600_000
        wait_until(fleet, lambda state: state.host("b").effective_khz == MIN_KHZ, "the floor")
        fleet.request(1_600_000, ["b"])
        wait_until(fleet, lambda state: state.host("a").effective_khz == MIN_KHZ, "the floor")
        wait_until(fleet, busy_at(1_600_000), "a frequency")
        clock.now_s += 1.0
        state = wait_until(fleet, lambda state: state.power_w is not None, "power")
        assert state.power_w == pytest.approx(150.0)
        assert state.source == "emulated"
        assert fleet.stop() == ()
    assert all(agent.leases.lease is None for agent in agents.values())
    assert all(agent.open_clients == 0 for agent in agents.values())
    assert fleet.events() == ()


def test_an_agent_that_hangs_delays_nobody(
    agents: dict[str, FakeAgent], clock: ManualClock, gate: threading.Event
) -> None:
    connects: dict[str, Callable[[], FakeClient]] = connections(agents)
    connects["b"] = lambda: HangingClient(agents["b"], gate)
    fleet = Fleet(connects, PERIOD_S, clock=clock)
    fleet.start()
    fleet.request(1_600_000, ["a", "b", "c"])
    for name in ("a", "c"):
        wait_until(fleet, host_at(name, 1_600_000), f"the frequency of {name}")
    state = fleet.state()
    assert not state.host("b").reachable
    assert (state.power_w, state.frequency_khz) == (None, None)
    assert "b" in fleet.stop(timeout_s=0.1)
    wait_for(
        lambda: agents["a"].leases.lease is agents["c"].leases.lease is None,
        "the others are given back",
    )


def test_an_agent_that_is_lost_is_told_and_comes_back(
    agents: dict[str, FakeAgent], clock: ManualClock
) -> None:
    with Fleet(connections(agents), PERIOD_S, clock=clock) as fleet:
        fleet.request(1_600_000, ["a", "b", "c"])
        wait_until(fleet, busy_at(1_600_000), "a frequency")
        agents["b"].down = True
        (lost,) = wait_for(fleet.events, "the loss")
        assert lost.kind == EventKind.AGENT_LOST
        assert lost.detail.startswith("b: ")
        state = fleet.state()
        assert not state.host("b").reachable
        assert state.host("a").effective_khz == 1_600_000
        agents["b"].down = False

        def recovered() -> tuple[Event, ...]:
            clock.now_s += 0.5  # back-off is measured on this clock
            return fleet.events()

        (found,) = wait_for(recovered, "the recovery")
        assert found == Event(EventKind.AGENT_RECOVERED, "b: answers again")
        wait_until(fleet, busy_at(1_600_000), "a frequency")
        assert fleet.events() == ()


def test_reading_alone_takes_no_lease(agents: dict[str, FakeAgent], clock: ManualClock) -> None:
    with Fleet(connections(agents), PERIOD_S, control=False, clock=clock) as fleet:
        fleet.request(1_600_000, ["a"])
        wait_until(fleet, lambda state: all(host.reachable for host in state.hosts), "answers")
        clock.now_s += 1.0
        wait_until(fleet, lambda state: state.power_w is not None, "power")
    for agent in agents.values():
        assert not {"lease", "renew", "set_frequency", "release"} & set(agent.calls)


def test_a_fleet_that_never_started_ends_at_once(agents: dict[str, FakeAgent]) -> None:
    assert Fleet(connections(agents)).stop() == ()
    assert Fleet({}).state() == FleetState(())
    with pytest.raises(ValueError, match="period_s must be positive"):
        Fleet({}, 0.0)
