"""Pairing and statistics of the overhead, without Spark."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from hypothesis import given
from hypothesis import strategies as st
from typer.testing import CliRunner

from benchmarks.hft.measure import overhead as measured
from benchmarks.hft.measure.cluster import CpuSeconds, used_s
from benchmarks.hft.measure.commands import add_to, sentence
from benchmarks.hft.measure.overhead import (
    Leg,
    Overhead,
    Pair,
    median_interval,
    orders,
    paired,
    summary,
    whole_batches,
)
from runtime.spark.sensing.progress import BatchProgress


def leg(rows: int, span_s: float = 10.0, cpu_s: float = 20.0) -> Leg:
    return Leg(rows, 10, span_s, cpu_s, python_cpu_s=cpu_s / 100, leg_s=10.0, steps=9)


def batch(started_s: float, duration_s: float, rows: int = 100) -> BatchProgress:
    return BatchProgress("run", None, 0, started_s, duration_s, rows, True, (), None)


def pairs_of(*losses: float) -> list[Pair]:
    return [
        paired(
            number,
            leg(100_000),
            leg(round(100_000 * (1 - loss))),
            controlled_first=number % 2 == 0,
        )
        for number, loss in enumerate(losses, 1)
    ]


def test_the_loss_is_what_the_controlled_leg_lacks() -> None:
    pair = paired(1, leg(100_000), leg(97_000), controlled_first=True)
    assert (pair.without_per_s, pair.with_per_s) == (10_000, 9_700)
    assert pair.loss_fraction == pytest.approx(0.03)


def test_cpu_time_is_counted_for_the_same_quotes() -> None:
    # The leg is 10 s of 5,000 quotes/s, though its whole batches cover 4 s only.
    pair = paired(1, leg(20_000, 4.0, cpu_s=10.0), leg(20_000, 4.0, 11.0), controlled_first=False)
    assert pair.without_cpu_s == pytest.approx(200.0)
    assert summary([pair], np.random.default_rng(0)).cpu_fraction == pytest.approx(0.1)
    assert pair.loop_cores == pytest.approx(0.001)


def test_one_disturbed_pair_does_not_move_the_median() -> None:
    result = summary(pairs_of(0.01, 0.012, 0.008, 0.4, 0.009), np.random.default_rng(0))
    assert result.loss_fraction == pytest.approx(0.01)
    assert result.loss_low == pytest.approx(0.008)
    assert len(result.pairs) == 5


@given(values=st.lists(st.floats(-1, 1), min_size=2, max_size=30), seed=st.integers(0, 100))
def test_the_interval_holds_the_median_and_lies_within_the_values(
    values: list[float], seed: int
) -> None:
    low, high = median_interval(np.array(values), np.random.default_rng(seed))
    assert min(values) <= low <= high <= max(values)
    if len(set(values)) == 1:
        assert low == high == values[0]


def test_the_interval_covers_the_true_median_as_often_as_it_says() -> None:
    random = np.random.default_rng(7)
    covered = 0
    for _ in range(100):
        low, high = median_interval(random.normal(0.005, 0.02, 12), random)
        covered += low <= 0.005 <= high
    assert covered >= 0.9 * 100


@given(pairs=st.integers(1, 40), seed=st.integers(0, 1_000))
def test_each_leg_comes_first_equally_often(pairs: int, seed: int) -> None:
    first = orders(pairs, np.random.default_rng(seed))
    assert len(first) == pairs
    assert abs(2 * sum(first) - pairs) <= 1


def test_chance_says_which_comes_first() -> None:
    assert len({tuple(orders(6, np.random.default_rng(seed))) for seed in range(50)}) == 8


def test_batches_that_reach_over_the_edge_of_a_leg_do_not_count() -> None:
    batches = [batch(9.5, 1.0), batch(10.0, 1.0), batch(18.0, 2.0), batch(19.5, 1.0)]
    assert whole_batches(batches, 10.0, 20.0) == batches[1:3]


def test_a_process_that_came_later_counts_from_its_start() -> None:
    before: CpuSeconds = {("workers", 1): 5.0, ("driver_jvm", 2): 1.0, ("workers", 9): 4.0}
    after: CpuSeconds = {("workers", 1): 7.0, ("driver_jvm", 2): 1.5, ("workers", 3): 0.25}
    assert used_s(before, after) == 2.75
    assert used_s(before, after, "workers") == 2.25


def test_the_command_writes_the_loss_and_the_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    result = summary(pairs_of(0.01, 0.02, 0.03), np.random.default_rng(0))
    asked: list[tuple[int, float, int]] = []

    def measure(pairs: int, leg_s: float, seed: int, begin: object) -> Overhead:
        asked.append((pairs, leg_s, seed))
        return result

    monkeypatch.setattr(measured, "measure_overhead", measure)
    monkeypatch.setattr("runtime.spark.launching.local_cluster.why_unavailable", lambda: None)
    app = typer.Typer()
    add_to(app)
    path = tmp_path / "overhead.json"
    done = CliRunner().invoke(app, ["overhead", "--pairs", "3", "--json", str(path)])
    assert done.exit_code == 0, done.output
    assert sentence(result) in done.output
    document = json.loads(path.read_text())
    assert asked == [(3, 8.0, 1)]
    assert document["loss_fraction"] == pytest.approx(0.02)
    assert [pair["pair"] for pair in document["pairs"]] == [1, 2, 3]
    assert document["backend"] == "spark"
