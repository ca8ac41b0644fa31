"""The thesis's conclusions that hold here, with fixed seeds; docs name those that do not."""

from functools import cache

import pytest

from benchmarks.thesis.claims import ThesisClaim, claims
from benchmarks.thesis.comparison import ThesisRow, compare, repeated
from benchmarks.thesis.experiments import EXPERIMENTS
from benchmarks.thesis.workload import make_workload


@cache
def compared(experiment: str) -> tuple[ThesisRow, ...]:
    return tuple(compare([experiment], runs=2, seed=1, begin=lambda _work: None))


def checked(experiment: str) -> list[ThesisClaim]:
    return claims(compared(experiment))


def row(experiment: str, workload: str, case: str) -> ThesisRow:
    (found,) = (row for row in compared(experiment) if (row.workload, row.case) == (workload, case))
    return found


@pytest.mark.parametrize(
    ("experiment", "words"),
    [
        ("executor-strategy", "W1: queue-aware is the best"),
        ("executor-strategy", "W2: queue-aware is the best"),
        ("initialiser", "W1: the optimised initialiser beats zero and random"),
        ("initialiser", "zeros keep the agent"),
        ("learning-factor", "slightly below the target of 30 s, with 8 executors"),
        ("overall", "W1: from 8 to 12 executors"),
        ("overall", "W2: from 8 to 12 executors"),
    ],
)
def test_a_conclusion_of_the_thesis_holds(experiment: str, words: str) -> None:
    (claim,) = (claim for claim in checked(experiment) if words in claim.thesis)
    assert claim.holds, claim.ours


@pytest.mark.parametrize("workload", ["W1", "W2"])
def test_twelve_executors_are_not_better_than_24(workload: str) -> None:
    """The plant has no network that slows many executors down; the thesis suspects one."""
    (claim,) = (
        claim
        for claim in checked("overall")
        if claim.thesis == f"{workload}: 12 executors are slightly better than 24"
    )
    assert not claim.holds


@pytest.mark.parametrize("workload", ["W1", "W2"])
def test_q_learning_saves_executors_against_spark_and_pays_with_latency(workload: str) -> None:
    learned = row("overall", workload, "q-learning")
    spark = row("overall", workload, "spark-ratio")
    assert learned.executors_mean < 0.7 * spark.executors_mean
    assert learned.over_target > spark.over_target


def test_the_published_figure_is_beside_ours() -> None:
    slow = row("learning-factor", "W2", "0.007")
    assert slow.thesis_executors == 8.0
    assert slow.difference == pytest.approx(slow.executors_mean - 8.0)
    assert row("learning-factor", "W1", "0.007").thesis_executors is None


def test_the_same_seed_gives_the_same_outcome_and_another_does_not() -> None:
    (_, exploring, _) = EXPERIMENTS["initialiser"].cases("W1")
    workload = make_workload("W1")
    once = repeated(exploring, workload, runs=1, seed=5)
    assert repeated(exploring, workload, runs=1, seed=5) == once
    assert repeated(exploring, workload, runs=1, seed=6) != once


def test_every_experiment_has_its_cases_for_both_workloads() -> None:
    for experiment in EXPERIMENTS.values():
        names = [[case.name for case in experiment.cases(workload)] for workload in ("W1", "W2")]
        assert names[0] == names[1]
        assert len(set(names[0])) == len(names[0]) >= 3
