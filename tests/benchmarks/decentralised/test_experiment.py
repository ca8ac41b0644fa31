"""The paper's experiment: its worked cases exactly, its conclusions with fixed seeds."""

import numpy as np
import pytest

from benchmarks.decentralised import traffic
from benchmarks.decentralised.deployment import PipelineDeployment
from benchmarks.decentralised.experiment import (
    ProtocolExperiment,
    ideal_instances,
    random_loads,
    run,
)
from benchmarks.decentralised.figures import AS_PUBLISHED, experiment
from benchmarks.decentralised.timed import RandomDelays, TimedNetwork
from mpc.decentralised.messages import Address
from mpc.decentralised.node import ALL_GUARDS, Guard


@pytest.fixture(scope="module")
def runs() -> list[ProtocolExperiment]:
    return [experiment(seed, ALL_GUARDS) for seed in range(3)]


def test_the_ideal_number_of_instances_is_that_of_the_papers_examples() -> None:
    assert ideal_instances(np.asarray([643.0, 1104.0, 0.0])).tolist() == [2.0, 3.0, 1.0]


def test_instances_follow_the_load(runs: list[ProtocolExperiment]) -> None:
    """Section 5.2: the number of nodes follows the load within a few steps."""
    for each in runs:
        instances, ideal = each.instances.sum(axis=1), each.ideal.sum(axis=1)
        assert np.corrcoef(instances[5:], ideal[:-5])[0, 1] > 0.93
        assert instances.max() == pytest.approx(ideal.max(), rel=0.12)


def test_many_instances_come_at_once_without_coordination(runs: list[ProtocolExperiment]) -> None:
    """Section 5.2: if X more are needed, X are added within a short time."""
    assert max(int(np.diff(each.instances.sum(axis=1)).max()) for each in runs) >= 8


def test_accuracy_is_near_one_and_departs_from_it_where_few_instances_do(
    runs: list[ProtocolExperiment],
) -> None:
    """Section 5.3: rare peaks and dips, at sudden changes of small loads."""
    for each in runs:
        assert 0.95 < float(each.accuracy.mean()) < 1.25
        assert float((each.throughput * each.loads).sum() / each.loads.sum()) > 0.95
    accuracy = np.concatenate([each.accuracy.ravel() for each in runs])
    ideal = np.concatenate([each.ideal.ravel() for each in runs])
    assert accuracy.max() > 2.5
    assert accuracy.min() < 0.4
    off = np.abs(np.log(accuracy))
    assert off[ideal < 5].mean() > 2 * off[ideal >= 15].mean()


def test_views_agree_in_the_end_and_equal_seeds_give_equal_runs(
    runs: list[ProtocolExperiment],
) -> None:
    assert all(each.settled == () for each in runs)
    again = experiment(1, ALL_GUARDS)
    assert np.array_equal(again.instances, runs[1].instances)
    assert np.array_equal(again.messages, runs[1].messages)


def test_messages_come_with_changes(runs: list[ProtocolExperiment]) -> None:
    """Section 5.2: each significant change of the number of instances leads to traffic."""
    for each in runs:
        changed = np.abs(np.diff(each.instances[:, 2], prepend=7))
        neighbours = each.instances[:, 1] + each.instances[:, 3]
        expected = (2 * changed * neighbours).reshape(20, 10).sum(axis=1)
        messages = each.messages[:, 2].reshape(20, 10).sum(axis=1)
        assert np.corrcoef(messages, expected)[0, 1] > 0.6


@pytest.mark.parametrize("guards", [ALL_GUARDS, AS_PUBLISHED], ids=["repaired", "published"])
def test_the_message_formula_holds(guards: frozenset[Guard]) -> None:
    assert len(traffic.FORMULA_CASES) > 100
    assert traffic.duplications_off_formula(guards) == 0
    assert traffic.deletions_off_formula(guards) == 0


def test_the_papers_worked_cases() -> None:
    """Sections 5.1 and 5.4; telling predecessors first spreads a deletion over more steps."""
    assert traffic.one_duplication(AS_PUBLISHED) == traffic.one_duplication(ALL_GUARDS) == 30
    assert traffic.four_deletions(AS_PUBLISHED) == 168
    assert traffic.four_deletions(ALL_GUARDS) == 84
    assert traffic.steps_to_scale_out(AS_PUBLISHED) == traffic.steps_to_scale_out(ALL_GUARDS) == 3
    assert traffic.steps_to_scale_in(AS_PUBLISHED) == 2
    assert traffic.steps_to_scale_in(ALL_GUARDS) == 4


def test_traffic_is_quadratic_only_for_a_load_that_grows_by_equal_factors() -> None:
    """Section 5.4 says quadratic. A load that grows by equal amounts needs the same number of new
    instances whatever their number, and every one costs messages in proportion to it."""
    by_factors = traffic.growth(traffic.growing_loads(60, True), np.random.default_rng(0))
    by_amounts = traffic.growth(traffic.growing_loads(60, False), np.random.default_rng(0))
    assert by_factors.nodes[-1] > 4 * by_factors.nodes[0]
    assert by_factors.exponent == pytest.approx(2.0, abs=0.3)
    assert by_amounts.exponent < 1.6


def test_long_delays_cost_accuracy_and_not_consistency(runs: list[ProtocolExperiment]) -> None:
    slow = experiment(0, ALL_GUARDS, mean_delay_steps=10.0)
    assert slow.settled == ()
    quick, late = (float(np.abs(np.log(each.accuracy)).mean()) for each in (runs[0], slow))
    assert late > 1.2 * quick


def test_random_delays_leave_the_views_complete() -> None:
    """Duplications one after the other leave every view complete."""
    network = TimedNetwork(
        PipelineDeployment((1, 1, 1)), RandomDelays(5.0, np.random.default_rng(0))
    )
    for _ in range(20):
        network.scale_out(Address(1, 0), 1)
        network.settle()
    assert network.deployment.inconsistent() == []
    assert len(network.deployment.alive(1)) == 21


def test_loads_are_never_negative_and_start_where_the_instances_fit() -> None:
    loads = random_loads(np.random.default_rng(0))
    assert loads.shape == (200, 5)
    assert loads.min() >= 0
    calm = run(np.full((20, 5), 2450.0), np.random.default_rng(0))
    assert calm.messages.sum() == 0
    assert (calm.instances == 7).all()
