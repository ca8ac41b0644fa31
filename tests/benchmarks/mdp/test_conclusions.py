"""What Russo Russo 2018 concludes from its evaluation, on fixed seeds.

Two operators and generated arrivals keep it short; what differs with three operators and a whole
year is in the documentation.
"""

from functools import lru_cache

import pytest

from benchmarks.mdp.runs import DECENTRALISED, MDP, RL, RL_KNOWN, MdpJob, MdpWorkload, run
from benchmarks.mdp.setting import MdpSetting
from benchmarks.mdp.year import MdpOutcome
from mpc.simulation.pool import run_all

WORKLOAD = MdpWorkload(data=None, seed=1, days=40)


@lru_cache
def outcome(controller: str, operators: int = 2) -> MdpOutcome:
    return run(MdpJob(WORKLOAD, MdpSetting(operators), controller)).outcome


def late(controller: str) -> float:
    """Mean cost of the last 10 days."""
    return float(outcome(controller).daily_cost[-10:].mean())


def test_the_solved_problem_costs_least() -> None:
    others = (RL_KNOWN, RL, *(f"{DECENTRALISED}{target}" for target in (0.6, 0.7, 0.8)))
    assert all(outcome(MDP).cost < outcome(other).cost for other in others)


def test_learning_with_known_response_times_costs_next_to_nothing() -> None:
    assert outcome(RL_KNOWN).cost == pytest.approx(outcome(MDP).cost, rel=0.01)


def test_knowing_the_response_time_helps() -> None:
    """Most at the start: without it every violation has to be made before it is believed."""
    assert outcome(RL).cost > 1.03 * outcome(RL_KNOWN).cost
    assert outcome(RL).cost_until(7) > 1.2 * outcome(RL_KNOWN).cost_until(7)


def test_learning_approaches_the_solution_with_time() -> None:
    gap_at_first = outcome(RL).cost_until(7) - outcome(MDP).cost_until(7)
    gap_at_last = late(RL) - late(MDP)
    assert 0 < gap_at_last < 0.2 * gap_at_first


def test_decentralised_costs_somewhat_more() -> None:
    best = min(outcome(f"{DECENTRALISED}{target}").cost for target in (0.6, 0.7, 0.8))
    assert 1.0 < best / outcome(MDP).cost < 1.2


def test_agents_without_coordination_reconfigure_more() -> None:
    for target in (0.6, 0.7, 0.8):
        assert (
            outcome(f"{DECENTRALISED}{target}").reconfigurations
            > 1.3 * outcome(MDP).reconfigurations
        )


def test_the_target_utilisation_trades_violations_for_instances() -> None:
    low, middle, high = (outcome(f"{DECENTRALISED}{target}") for target in (0.6, 0.7, 0.8))
    assert low.instances > middle.instances > high.instances
    assert high.violations > 2 * middle.violations


def test_the_gap_grows_with_the_number_of_operators() -> None:
    gaps = [
        outcome(f"{DECENTRALISED}0.7", operators).cost - outcome(MDP, operators).cost
        for operators in (1, 2, 3)
    ]
    assert gaps == sorted(gaps)


def test_worker_processes_change_no_figure() -> None:
    short = MdpWorkload(data=None, seed=3, days=2)
    jobs = [MdpJob(short, MdpSetting(1), name) for name in (MDP, RL)]
    for alone, parallel in zip(run_all(run, jobs, 1), run_all(run, jobs, 2), strict=True):
        assert alone.job == parallel.job
        assert alone.outcome.daily_cost.tolist() == parallel.outcome.daily_cost.tolist()
