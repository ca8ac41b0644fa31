"""M/D/1: the formula of the operators of Russo Russo 2018."""

import numpy as np
import pytest

from mpc.policies.mdp.response import md1_response_s, utilisation


def test_known_values() -> None:
    response_s = md1_response_s(np.asarray([0.0, 0.5, 0.8, 1.0, 3.0]), 1.0, np.asarray([1.0]))
    # Pollaczek and Khinchine without variance: half the wait of M/M/1, rho / (1 - rho) / 2.
    assert response_s[:, 0] == pytest.approx([1.0, 1.5, 3.0, np.inf, np.inf])


def test_instances_share_the_rate() -> None:
    counts = np.asarray([1.0, 2.0, 4.0])
    assert utilisation(np.asarray([6.0]), 3.0, counts)[0] == pytest.approx([2.0, 1.0, 0.5])
    response_s = md1_response_s(np.asarray([6.0]), 3.0, counts)[0]
    assert response_s[:2] == pytest.approx([np.inf, np.inf])
    assert response_s[2] == pytest.approx(md1_response_s(np.asarray([1.5]), 3.0, np.ones(1))[0, 0])


@pytest.mark.parametrize("load", [0.3, 0.7, 0.85])
def test_against_a_simulated_queue(load: float) -> None:
    service_s, customers = 1 / 3.3, 400_000
    random = np.random.default_rng(3)
    gaps_s = random.exponential(service_s / load, customers)
    # Lindley: W' = max(0, W + S - A) is the walk above its running minimum.
    walk = np.concatenate(([0.0], np.cumsum(service_s - gaps_s[1:])))
    wait_s = walk - np.minimum.accumulate(walk)
    predicted_s = md1_response_s(np.asarray([load / service_s]), 1 / service_s, np.ones(1))[0, 0]
    assert float(wait_s.mean()) + service_s == pytest.approx(predicted_s, rel=0.03)
