"""What Cardellini et al. 2018 concludes in section 9, on four hours of generated taxi days with a
fixed seed.

Two of its observations are not reproduced and not asserted. Q-learning without bucket: its mean
response time there is over 470 ms with a median of 140; here a backlog is gone two minutes after a
reconfiguration, and the mean stays near the median. Model-based with dear reconfigurations: it
runs 12 replicas there and 9 here, where fewer keep the bounds.
"""

from functools import cache

import numpy as np

from benchmarks.edf.choices import EdfChoice, Figures, Weights
from benchmarks.edf.cluster import beside_the_ranking
from benchmarks.edf.experiment import EdfOutcome, EdfSetting, run
from benchmarks.edf.workload import taxi_rates

DEAR_REPLICAS: Weights = "perf = res = 2 rcf"
DEAR_CHANGES: Weights = "perf = rcf = 2 res"
Q_LEARNING = EdfChoice("q-learning", DEAR_REPLICAS)
MODEL_BASED = EdfChoice("model-based", DEAR_REPLICAS)


@cache
def outcome(choice: EdfChoice) -> EdfOutcome:
    rates = taxi_rates(None, np.random.default_rng(5))
    return run(choice, rates, 5, EdfSetting(hours=4.0))


def figures(choice: EdfChoice) -> Figures:
    measured = outcome(choice).figures
    assert measured is not None
    return measured


def with_bucket(choice: EdfChoice) -> EdfChoice:
    return EdfChoice(choice.local, choice.setting, bucket=True)


def test_usual_thresholds_violate_most_of_the_time_and_low_ones_pay_in_replicas() -> None:
    high, middle, low = (figures(EdfChoice("threshold", level)) for level in (0.7, 0.4, 0.3))
    assert high.violation_percent > 50.0
    assert high.violation_percent > 1.5 * middle.violation_percent > 1.5 * low.violation_percent
    assert low.violation_percent < 10.0
    assert high.replicas + 1.0 < middle.replicas < low.replicas - 1.0


def test_q_learning_alone_reconfigures_constantly() -> None:
    """More than nine tenths of what the rest after each allows: one in 150 s."""
    most = (4.0 - 0.5) * 3600.0 / 150.0
    assert outcome(Q_LEARNING).reconfigurations > 0.9 * most
    for choice in (EdfChoice("threshold", 0.3), MODEL_BASED):
        assert outcome(Q_LEARNING).reconfigurations > 1.5 * outcome(choice).reconfigurations


def test_the_token_bucket_cures_q_learning() -> None:
    alone, limited = outcome(Q_LEARNING), outcome(with_bucket(Q_LEARNING))
    assert limited.reconfigurations < 0.4 * alone.reconfigurations
    assert limited.granted < 0.05 * limited.requested
    assert limited.unmet_percent < 0.5 * alone.unmet_percent
    assert figures(with_bucket(Q_LEARNING)).violation_percent < 5.0


def test_model_based_learning_reconfigures_and_violates_less_than_q_learning() -> None:
    by_model, by_trial = outcome(MODEL_BASED), outcome(Q_LEARNING)
    assert by_model.reconfigurations < 0.4 * by_trial.reconfigurations
    assert figures(MODEL_BASED).replicas < figures(Q_LEARNING).replicas - 1.0
    assert by_model.unmet_percent < 0.5 * by_trial.unmet_percent


def test_weights_steer_model_based_learning() -> None:
    """With dear reconfigurations it settles, and the bucket has next to nothing left to do."""
    dear = EdfChoice("model-based", DEAR_CHANGES)
    assert outcome(dear).reconfigurations <= 0.6 * outcome(MODEL_BASED).reconfigurations
    assert figures(dear).replicas >= figures(MODEL_BASED).replicas


def test_the_bucket_halves_the_downtime_of_a_threshold_without_more_violations() -> None:
    alone = EdfChoice("threshold", 0.3)
    assert figures(with_bucket(alone)).downtime_percent < 0.6 * figures(alone).downtime_percent
    assert figures(with_bucket(alone)).violation_percent < figures(alone).violation_percent + 2.0


def test_migration_relieves_a_node_that_others_overload() -> None:
    rates = taxi_rates(None, np.random.default_rng(5))
    busy = beside_the_ranking(20.0)
    choice = EdfChoice("threshold", 0.7)

    def mean_ms(migration: bool) -> float:
        setting = EdfSetting(hours=1.0, other_cores=busy, migration=migration)
        measured = run(choice, rates, 5, setting).figures
        assert measured is not None
        return measured.mean_ms

    assert mean_ms(migration=True) < 0.8 * mean_ms(migration=False)
