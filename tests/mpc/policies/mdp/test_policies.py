"""`mdp` and `mdp-rl` on one operator: what they settle at, and what they do with gaps."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.bounds import Bounds
from mpc.controller import Controller
from mpc.policies.mdp.arrival_model import ArrivalModel
from mpc.policies.mdp.options import MdpOptions, MdpRlOptions
from mpc.policies.mdp.policy import MdpPolicy
from mpc.policies.mdp.response import md1_response_s
from mpc.policies.mdp.rl_policy import LearnedViolations, MdpRlPolicy
from mpc.ports import Policy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Measurement
from tests.support.contexts import context

SPACE = ConfigurationSpace(2, 10, (1_000_000, 2_000_000))
CYCLES = 1e8
SERVICE_PER_S = 20.0
TARGET_S = 0.1


def mdp() -> MdpPolicy:
    return MdpPolicy(MdpOptions(), context(SPACE, step_s=10.0, target_s=TARGET_S))


def mdp_rl() -> MdpRlPolicy:
    return MdpRlPolicy(MdpRlOptions(), context(SPACE, target_s=TARGET_S))


def fewest_for(rate_per_s: float) -> int:
    response_s = md1_response_s(
        np.asarray([rate_per_s]), SERVICE_PER_S, SPACE.executors.astype(np.float64)
    )
    return int(SPACE.executors[response_s[0] <= TARGET_S][0])


def drive(policy: Policy, rates_per_s: list[float], executors: int = 5) -> list[int]:
    """An operator that answers as M/D/1 does; ten seconds where it cannot keep up."""
    wanted = []
    for step, rate_per_s in enumerate(rates_per_s):
        now = Configuration(executors, 2_000_000)
        latency_s = float(
            md1_response_s(np.asarray([rate_per_s]), SERVICE_PER_S, np.asarray([executors]))[0, 0]
        )
        decision = policy.decide(
            Measurement(
                step,
                10.0 * step,
                requested=now,
                observed=now,
                arrivals_per_s=rate_per_s,
                cost_cycles=CYCLES,
                latency_s=min(latency_s, 10.0),
            ),
            Bounds(SPACE),
        )
        assert decision.target.frequency_khz == 2_000_000
        executors = decision.target.executors
        wanted.append(executors)
    return wanted


@pytest.mark.parametrize("rate_per_s", [5.0, 40.0, 90.0, 120.0])
@pytest.mark.parametrize("policy", [mdp, mdp_rl])
def test_a_steady_rate_gets_the_fewest_executors_that_serve_it_in_time(
    policy: type[Policy], rate_per_s: float
) -> None:
    wanted = drive(policy(), [rate_per_s] * 200)
    assert wanted[-20:] == [fewest_for(rate_per_s)] * 20


def test_it_follows_the_rate_by_one_executor_a_step() -> None:
    wanted = drive(mdp(), [40.0] * 20 + [120.0] * 20 + [10.0] * 200)
    assert wanted[19] == fewest_for(40.0)
    assert wanted[39] == fewest_for(120.0)
    assert wanted[-1] == fewest_for(10.0)
    assert max(abs(after - before) for before, after in pairwise(wanted)) == 1


def test_it_keeps_the_executors_for_a_rate_that_comes_back() -> None:
    """Changes cost more than what executors save in the one step between."""
    wanted = drive(mdp(), [40.0, 120.0] * 40)
    assert wanted[-20:] == [fewest_for(120.0)] * 20


@pytest.mark.parametrize("policy", [mdp, mdp_rl])
def test_a_rate_beyond_all_executors_gets_all(policy: type[Policy]) -> None:
    assert drive(policy(), [1000.0] * 60)[-1] == SPACE.max_executors


@pytest.mark.parametrize("policy", [mdp, mdp_rl])
def test_nothing_measured_changes_nothing(policy: type[Policy]) -> None:
    now = Configuration(4, 1_000_000)
    decision = policy().decide(Measurement(0, 0.0, requested=now, observed=now), Bounds(SPACE))
    assert decision.target == Configuration(4, 2_000_000)
    assert decision.reason == "no arrivals measured: hold"


def test_micro_batches_stand_for_the_queue_where_there_are_any() -> None:
    """At 40 rows/s rho = 2 / n; back to back rows answer in 1.5 * 35 ms / (1 - rho)."""
    policy = mdp()
    executors = 8
    random = np.random.default_rng(4)
    for step in range(100):
        now = Configuration(executors, 2_000_000)
        rows = int(random.integers(1, 9))
        duration_s = 0.035 + rows / (SERVICE_PER_S * executors)
        latency_s = 1.5 * 0.035 / max(1 - 2 / executors, 0.01)
        decision = policy.decide(
            Measurement(
                step,
                10.0 * step,
                requested=now,
                observed=now,
                arrivals_per_s=40.0,
                latency_s=latency_s,
                batches=(BatchSample(rows, duration_s, now),),
            ),
            Bounds(SPACE),
        )
        executors = decision.target.executors
    # Four executors would take 105 ms and five take 88 ms; for M/D/1 fewer are enough.
    assert executors == 5 > fewest_for(40.0)


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e6)), min_size=1, max_size=30))
def test_the_levels_hold_every_rate(rates: list[float | None]) -> None:
    model = ArrivalModel(8)
    pairs = 0
    for before, rate in zip([None, *rates], rates, strict=False):
        level, _ = model.observe(rate)
        pairs += before is not None and rate is not None
        if rate is None:
            assert level is None
        else:
            assert level is not None
            assert 0 <= level <= 8
            assert model.rates_per_s[level] >= rate * (1 - 1e-12) or rate < 1e-6
    assert model.estimate.counts.sum() == pairs


def test_a_doubled_quantum_merges_what_was_counted() -> None:
    model = ArrivalModel(8)
    for rate in (4.0, 3.0, 8.0):
        model.observe(rate)
    assert model.estimate.counts[4, 3] == model.estimate.counts[3, 8] == 1
    assert model.observe(20.0) == (5, 2)
    # A quantum of 4: 4 and 3 share a level, 8 is the next, 20 the fifth.
    assert model.rates_per_s.tolist() == [4.0 * level for level in range(9)]
    assert model.estimate.counts[1, 1] == model.estimate.counts[1, 2] == 1
    assert model.estimate.counts[2, 5] == 1


def test_violations_are_averaged_and_merged_by_samples() -> None:
    learned = LearnedViolations(3, 1, 0.1)
    for violated in (True, False, False, True):
        learned.observe(1, 0, violated)
    learned.observe(2, 0, True)
    assert learned.share[:, 0] == pytest.approx([0.0, 0.5, 1.0])
    learned.merge_pairs()
    assert learned.share[:, 0] == pytest.approx([0.0, 0.6, 0.0])


def test_silence_is_no_good_latency() -> None:
    """An overloaded engine finishes no batch for many steps: what waits is late all the same."""
    controller = Controller.of(mdp_rl(), SPACE, 1.0, 10.0)
    executors = SPACE.min_executors
    for step in range(40):
        now = Configuration(executors, 2_000_000)
        decided = controller.step(
            Measurement(
                step,
                10.0 * step,
                requested=now,
                observed=now,
                arrivals_per_s=120.0,
                oldest_wait_s=10.0 * step,
            )
        )
        executors = decided.target.executors
    assert executors == SPACE.max_executors


def test_no_latency_without_arrivals_is_no_violation() -> None:
    policy = mdp_rl()
    executors = 6
    for step in range(60):
        now = Configuration(executors, 2_000_000)
        measurement = Measurement(
            step, 10.0 * step, requested=now, observed=now, arrivals_per_s=0.0
        )
        executors = policy.decide(measurement, Bounds(SPACE)).target.executors
    assert executors == SPACE.min_executors
