"""Which policies run on a cluster, and what they are built with."""

from dataclasses import replace

import pytest

from mpc.bounds import Bounds
from mpc.policies.catalogue import policy_entries
from mpc.ports import Policy
from mpc.values import BatchSample, Configuration, Decision, Measurement
from runtime.build import build_policy, live_policy, live_power, simulated_space
from runtime.config import load_config
from tests.support.contexts import context

LIVE = ("static-3", *(entry.name for entry in policy_entries() if entry.live and not entry.number))
ONLY_SIMULATED = ("spl", "lat-node-nosw", "lat-power-h2")


def live(name: str, *overrides: str) -> Policy:
    config = load_config(None, [f"policy={name}", *overrides])
    space = simulated_space(config)
    return live_policy(config, space, live_power(config, space), 2.0)


CONFIG = load_config(None, ["forecast.model=last"])
SPACE = simulated_space(CONFIG)


def on_micro_batches(target_s: float, learned_dead_time_s: float = 0.0) -> Policy:
    built_for = context(
        SPACE,
        target_s=target_s,
        power=live_power(CONFIG, SPACE),
        dead_time_s=learned_dead_time_s,
        latency_model="micro-batch",
    )
    return build_policy(CONFIG, "foresight", built_for)


@pytest.mark.parametrize("name", LIVE)
def test_a_policy_of_a_cluster_decides_on_what_spark_tells(name: str) -> None:
    place = Configuration(4, 2_000_000)
    decision = live(name).decide(
        Measurement(
            1,
            1.0,
            place,
            place,
            arrivals_per_s=1000.0,
            completions_per_s=1000.0,
            latency_s=0.6,
            batches=(BatchSample(1000, 0.4, place),),
        ),
        Bounds(SPACE),
    )
    assert 1 <= decision.target.executors <= 12


@pytest.mark.parametrize("name", ONLY_SIMULATED)
def test_what_needs_more_than_spark_tells_is_refused_in_one_sentence(name: str) -> None:
    with pytest.raises(ValueError, match="needs measurements that Spark does not give") as caught:
        live(name)
    assert str(caught.value).startswith(f'policy = "{name}"')


def test_options_and_seed_reach_the_policy() -> None:
    def after_ten_minutes(*overrides: str) -> list[Configuration]:
        policy, place, decided = live("edf-q-learning", *overrides), Configuration(4, 2_000_000), []
        for step in range(60):
            measurement = Measurement(
                step, 10.0 * step, place, place, arrivals_per_s=50.0 * (step % 7), latency_s=0.5
            )
            place = policy.decide(measurement, Bounds(SPACE)).target
            decided.append(place)
        return decided

    random = ("policies.edf-q-learning.exploration=1", "policies.edf-q-learning.settle_s=0")
    assert after_ten_minutes(*random) == after_ten_minutes(*random)
    assert after_ten_minutes(*random) != after_ten_minutes(*random, "seed=2")
    assert after_ten_minutes(*random) != after_ten_minutes()


def test_the_interval_of_the_batches_is_part_of_the_latency_that_is_planned_with() -> None:
    """A row waits half of an interval of four seconds: the target of one cannot be kept."""
    place = Configuration(4, 2_000_000)

    def decided(trigger_interval_s: float | None) -> Decision:
        return on_micro_batches(1.0).decide(
            Measurement(
                1,
                1.0,
                place,
                place,
                arrivals_per_s=1000.0,
                batches=(BatchSample(1000, 0.4, place),),
                trigger_interval_s=trigger_interval_s,
            ),
            Bounds(SPACE),
        )

    back_to_back, every_four_s = decided(None), decided(4.0)
    assert back_to_back.plan is not None
    assert every_four_s.plan is not None
    assert every_four_s.plan.cost.latency > 2.0 * back_to_back.plan.cost.latency


def test_nothing_is_scaled_in_once_arrivals_are_overdue() -> None:
    """Batches of eight seconds tell arrivals every eighth step: the steps between are no gap."""
    policy, large = on_micro_batches(30.0), SPACE.largest

    def decided(step: int, told: bool) -> Decision:
        rows = Measurement(step, float(step), large, large, trigger_interval_s=8.0)
        if told:
            batches = (BatchSample(800, 0.4, large),)
            rows = replace(rows, arrivals_per_s=100.0, batches=batches)
        return policy.decide(rows, Bounds(SPACE))

    smaller = decided(1, told=True).target
    assert smaller.executors < large.executors
    assert all(decided(step, told=False).target.executors < 12 for step in range(2, 18))
    overdue = decided(18, told=False)
    assert overdue.target == large
    assert "no fresh measurement" in overdue.reason


@pytest.mark.parametrize(("dead_time_s", "planned"), [(0.0, 2), (2.0, 4), (8.0, 12), (60.0, 38)])
def test_a_plan_looks_beyond_the_start_of_executors(dead_time_s: float, planned: int) -> None:
    policy, place = on_micro_batches(1.0, dead_time_s), SPACE.at(0, 0)
    sample = BatchSample(1000, 0.4, place)
    decision = policy.decide(
        Measurement(1, 1.0, place, place, arrivals_per_s=1000.0, batches=(sample,)), Bounds(SPACE)
    )
    assert decision.expected_arrivals_per_s is not None
    assert len(decision.expected_arrivals_per_s) == planned


def test_a_model_of_single_tuples_is_refused_for_micro_batches() -> None:
    with pytest.raises(ValueError, match=r'latency\.model = "kingman" predicts'):
        live("foresight", "latency.model=kingman")
