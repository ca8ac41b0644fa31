"""The power model that learns as it runs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from energy.online_power import FEWEST_JUDGED, FIRST_READINGS, OnlinePower, non_negative
from energy.power import CalibratedPower, prior_power

PRIOR = prior_power(20, 2_400_000, 100.0)
HOST = CalibratedPower(30.0, 2.0, 0.4, 0.35)
"""Far from the prior in every term."""
PLACES = [(n, khz) for n in range(0, 21, 2) for khz in range(1_200_000, 2_400_001, 200_000)]


def play(
    model: OnlinePower, host: CalibratedPower, readings: int, seed: int = 1, noise: float = 0.02
) -> None:
    generator = np.random.default_rng(seed)
    for _ in range(readings):
        cores, khz = PLACES[generator.integers(len(PLACES))]
        factor = generator.lognormal(0.0, noise)
        model.learn(cores, khz, float(host.power_w(cores, khz)) * factor)


def error(model: CalibratedPower, host: CalibratedPower) -> float:
    cores, khz = np.array(PLACES).T
    true_w = host.power_w(cores, khz)
    return float(np.mean(np.abs(model.power_w(cores, khz) - true_w) / true_w))


@pytest.mark.parametrize("in_watts", [True, False])
def test_a_host_unlike_the_prior_is_learned_and_replaces_it(in_watts: bool) -> None:
    model = OnlinePower(PRIOR, in_watts)
    play(model, HOST, 60)
    assert model.record.kind == "learned"
    assert error(model.prior, HOST) > 0.07
    assert error(model.model, HOST) < 0.04
    play(model, HOST, 200, seed=2)
    assert error(model.model, HOST) < 0.02
    assert model.record.error is not None
    assert model.record.error < 0.04


def test_the_first_readings_fix_the_level_of_a_prior_that_is_only_a_shape() -> None:
    model = OnlinePower(prior_power(20, 2_400_000, 1.0), in_watts=False)
    for place in PLACES[10:13]:
        model.learn(*place, float(PRIOR.power_w(*place)))
    assert model.model.coefficients == pytest.approx(PRIOR.coefficients)
    assert model.record.kind == "prior"
    assert model.record.error is None


def test_a_prior_that_is_right_is_kept_in_its_place() -> None:
    model = OnlinePower(PRIOR)
    play(model, PRIOR, 200)
    assert error(model.model, PRIOR) < 0.01


def test_readings_at_one_place_leave_the_shape_of_the_prior() -> None:
    model = OnlinePower(PRIOR)
    for _ in range(300):
        model.learn(10, 2_400_000, 2.0 * float(PRIOR.power_w(10, 2_400_000)))
    doubled = CalibratedPower(*(2.0 * value for value in PRIOR.coefficients))
    assert error(model.model, doubled) < 0.02


@pytest.mark.parametrize("factor", [0.0001, 0.1, 10.0, 1000.0])
def test_bad_readings_do_not_bend_it(factor: float) -> None:
    model = OnlinePower(PRIOR)
    generator = np.random.default_rng(3)
    for number in range(200):
        cores, khz = PLACES[generator.integers(len(PLACES))]
        power_w = float(HOST.power_w(cores, khz))
        model.learn(cores, khz, power_w * factor if number % 10 == 5 else power_w)
    assert error(model.model, HOST) < 0.05


def test_a_new_level_that_stays_is_learned() -> None:
    model = OnlinePower(PRIOR)
    play(model, PRIOR, 300)
    louder = CalibratedPower(PRIOR.base_w + 30.0, *PRIOR.coefficients[1:])
    play(model, louder, 1000, seed=2)
    assert error(model.model, louder) < 0.1


@pytest.mark.parametrize(
    "reading", [(1.0, 2e6, 0.0), (1.0, 0.0, 9.0), (-1.0, 2e6, 9.0), (1.0, 2e6, float("nan"))]
)
def test_what_cannot_be_a_reading_is_left_out(reading: tuple[float, float, float]) -> None:
    model = OnlinePower(PRIOR)
    model.learn(*reading)
    assert model.readings == 0
    assert model.model == PRIOR


def test_nothing_replaces_the_prior_before_it_was_judged() -> None:
    model = OnlinePower(PRIOR)
    kinds = []
    for number in range(FIRST_READINGS + FEWEST_JUDGED):
        play(model, HOST, 1, seed=number)
        kinds.append(model.record.kind)
    assert kinds == [*["prior"] * (len(kinds) - 1), "learned"]


@given(st.integers(0, 10_000))
def test_the_small_problem_is_solved_exactly(seed: int) -> None:
    generator = np.random.default_rng(seed)
    columns = generator.normal(size=(12, 4))
    wanted = generator.normal(size=12)
    exact, _ = nnls(columns, wanted)
    found = non_negative(columns.T @ columns, columns.T @ wanted)
    assert found == pytest.approx(exact, abs=1e-6)
