"""What hosts offer is asked at the start, for a bounded time."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from mpc.values import ConfigurationSpace
from runtime.config import load_config
from runtime.control.starts import Start, note_start
from runtime.fleet.offers import offered_frequencies
from runtime.fleet.state import FleetState, HostState
from runtime.fleet.targets import HostFrequencies

OFFER = HostFrequencies(1_200_000, 3_600_000)


@dataclass
class Agents:
    """Hosts that answer after some time, on a clock that only sleeping moves."""

    answer_s: dict[str, float | None]
    now_s: float = 0.0
    slept: list[float] = field(default_factory=list)

    def state(self) -> FleetState:
        return FleetState(tuple(self._host(name, at_s) for name, at_s in self.answer_s.items()))

    def _host(self, name: str, at_s: float | None) -> HostState:
        answered = at_s is not None and self.now_s >= at_s
        offer = OFFER if answered else None
        return HostState(name, reachable=answered, greeted=answered, frequencies=offer)

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.now_s += seconds


def asked(agents: Any, folder: Path) -> tuple[HostFrequencies, ...]:
    return offered_frequencies(
        agents, folder, 5.0, monotonic_s=lambda: agents.now_s, sleep=agents.sleep
    )


def test_all_agents_are_waited_for(tmp_path: Path) -> None:
    agents = Agents({"a": 0.1, "b": 3.0})
    assert asked(agents, tmp_path) == (OFFER, OFFER)
    assert 3.0 <= agents.now_s < 3.5


def test_one_that_is_down_is_not_waited_for_for_ever(tmp_path: Path) -> None:
    agents = Agents({"a": 0.1, "b": None})
    assert asked(agents, tmp_path) == (OFFER,)
    assert 5.0 <= agents.now_s < 5.5


def test_without_an_answer_the_last_start_counts(tmp_path: Path) -> None:
    assert asked(Agents({"a": None}), tmp_path) == ()
    space = ConfigurationSpace(1, 4, (1_200_000, 3_600_000))
    note_start(tmp_path, Start(1.0, "0", False, space, load_config(None), (OFFER,)))
    assert asked(Agents({"a": None}), tmp_path) == (OFFER,)
