"""The simulated pipeline of Russo Russo 2018: its tables, its arrivals and what a slot costs."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.mdp.arrivals import TRIPS_PER_MIN, by_minute, estimated, taxi_arrivals
from benchmarks.mdp.setting import MdpSetting, response_s, utilisations, violations
from benchmarks.mdp.year import SLOTS_A_DAY, simulate
from mpc.policies.mdp.controllers import Slot


def test_the_threshold_as_printed_cannot_be_met() -> None:
    """1/mu of three operators adds up to more than 650 ms, so every state would violate."""
    assert response_s(MdpSetting(3), 1).min() == pytest.approx(1 / 3.7 + 1 / 3.3 + 1 / 2.7)
    assert violations(MdpSetting(3, threshold_s=0.65), 10).all()
    assert MdpSetting(3).response_limit_s == pytest.approx(1.95)
    assert not violations(MdpSetting(3), 10)[:, -1].any()


def test_response_times_of_a_pipeline_add_up() -> None:
    setting = MdpSetting(2)
    at = setting.instances.place(np.asarray([2, 3]))
    # Level 12 is 4 tuples a second.
    expected_s = sum(
        (1 + rho / (2 * (1 - rho))) / mu for mu, rho in ((3.7, 4 / (2 * 3.7)), (3.3, 4 / (3 * 3.3)))
    )
    assert response_s(setting, 13)[12, at] == pytest.approx(expected_s)
    assert utilisations(setting, 13)[:, 12, 2] == pytest.approx([4 / (3 * 3.7), 4 / (3 * 3.3)])


def test_arrivals_without_the_file_are_generated_and_say_so() -> None:
    arrivals = taxi_arrivals(None, np.random.default_rng(1))
    assert "generated" in arrivals.source
    path = arrivals.draw(100 * SLOTS_A_DAY, np.random.default_rng(2))
    assert 20.0 * path.mean() == pytest.approx(TRIPS_PER_MIN, rel=0.1)


def test_arrivals_of_the_real_taxis(shared_data: Path) -> None:
    arrivals = taxi_arrivals(shared_data, np.random.default_rng(1))
    assert "not available" in arrivals.source
    matrix = arrivals.transitions
    assert matrix.sum(axis=1) == pytest.approx(np.ones(len(matrix)))
    # Every level is left again, so that no path gets stuck.
    assert (matrix.diagonal() < 1.0).all()
    path = arrivals.draw(100 * SLOTS_A_DAY, np.random.default_rng(2))
    assert 20.0 * path.mean() == pytest.approx(TRIPS_PER_MIN, rel=0.1)


def test_minutes_follow_the_half_hours_and_bridge_gaps() -> None:
    half_hours = np.asarray([100.0, np.nan, 300.0, 300.0] * 50)
    minutes = by_minute(half_hours, 600.0, np.random.default_rng(1))
    assert len(minutes) == 30 * len(half_hours)
    assert float(minutes.mean()) == pytest.approx(600.0, rel=0.01)
    assert minutes[105] > 1.5 * minutes[15]


def test_a_drawn_path_has_the_transitions_it_is_drawn_from() -> None:
    source = estimated(np.asarray([0, 1, 2, 1, 0, 0, 2, 2, 1]), "test")
    path = source.draw(200_000, np.random.default_rng(7))
    assert estimated(path, "again").transitions == pytest.approx(source.transitions, abs=0.01)


class Scripted:
    """Adds an instance to the first operator in slot 0 and removes it in slot 2."""

    def __init__(self) -> None:
        self.slots: list[Slot] = []

    def decide(self, level: int, at: int) -> int:
        return at + {0: 5, 2: -5}.get(len(self.slots), 0)

    def learn(self, slot: Slot) -> None:
        self.slots.append(slot)


def test_what_a_year_is_charged() -> None:
    controller = Scripted()
    outcome = simulate(MdpSetting(2), np.asarray([3, 4, 40, 3, 3]), controller)
    assert outcome.reconfigurations == 2
    assert outcome.violations == 1
    assert [slot.violated for slot in controller.slots] == [False, False, True, False]
    assert outcome.instances == pytest.approx((7 + 7 + 6 + 6) / 4)
    assert outcome.cost == pytest.approx((0.2 * 26 / 10 + 0.4 * 3) / 4)
    first = controller.slots[0]
    assert (first.level, first.next_level) == (3, 4)
    assert first.utilisations == pytest.approx((1 / (4 * 3.7), 1 / (3 * 3.3)))
