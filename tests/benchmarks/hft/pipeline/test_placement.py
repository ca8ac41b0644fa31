"""The distribution table follows the weights, the partitions and the controller."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.hft.pipeline.placement import DistributionTable, Method, Placement, hashed
from benchmarks.workloads.keys import generated_key_frequencies
from mpc.balance import imbalance
from mpc.values import IntArray

WEIGHTS_US = generated_key_frequencies() * 1e6
SYMBOLS = np.arange(len(WEIGHTS_US), dtype=np.int64)


def reported(method: Method, partitions: int = 6) -> Placement:
    placement = Placement(partitions, method)
    placement.report(SYMBOLS, WEIGHTS_US)
    return placement


def test_nothing_is_known_at_first_so_symbols_are_hashed() -> None:
    table = Placement(5).table()
    assert table.of(SYMBOLS).tolist() == hashed(SYMBOLS, 5).tolist()


def test_measured_weights_balance_better_than_a_hash() -> None:
    spread = {
        method: imbalance(WEIGHTS_US, reported(method).table().of(SYMBOLS), 6)
        for method in ("balanced", "flux", "hash")
    }
    assert spread["balanced"] < 1.01
    assert spread["flux"] < 1.11
    assert spread["hash"] > spread["flux"]


def test_flux_moves_fewer_symbols_than_balanced() -> None:
    moved = {}
    for method in ("balanced", "flux"):
        placement = reported(method)
        before = placement.table().of(SYMBOLS)
        placement.resize(8)
        after = placement.table()
        assert after.partitions == 8
        moved[method] = int((after.of(SYMBOLS) != before).sum())
    assert moved["flux"] < moved["balanced"]


@given(
    partitions=st.integers(1, 12),
    fewer=st.integers(1, 12),
    method=st.sampled_from(["balanced", "flux", "hash"]),
)
def test_every_owner_exists_after_a_resize(partitions: int, fewer: int, method: Method) -> None:
    placement = reported(method, partitions)
    placement.resize(fewer)
    owners = placement.table().of(np.arange(4_000, dtype=np.int64))
    assert owners.min() >= 0
    assert owners.max() < fewer


def test_costs_of_a_symbol_are_summed_and_smoothed_over_batches() -> None:
    placement = Placement(2, smoothing=0.5)
    placement.report(np.array([0, 0, 2]), np.array([10.0, 20.0, 40.0]))
    placement.report(np.array([1]), np.array([8.0]))
    assert placement.weights().tolist() == [15.0, 4.0, 20.0]


def test_a_batch_without_fits_changes_nothing_that_matters() -> None:
    placement = Placement(3)
    nothing: IntArray = np.empty(0, dtype=np.int64)
    placement.report(nothing, np.empty(0))
    assert placement.table().partitions == 3


def test_symbols_without_a_weight_are_spread() -> None:
    placement = Placement(4)
    placement.report(np.array([399]), np.array([1.0]))
    owners = placement.table().of(np.arange(399, dtype=np.int64))
    assert set(owners.tolist()) == {0, 1, 2, 3}


def test_a_given_table_holds_until_the_partitions_change() -> None:
    placement = reported("balanced")
    placement.give(np.array([1, 0, 1]), 2)
    placement.report(SYMBOLS, WEIGHTS_US)
    assert placement.table().owners.tolist() == [1, 0, 1]
    placement.resize(3)
    assert len(placement.table().owners) == len(SYMBOLS)


def test_impossible_tables_are_refused() -> None:
    with pytest.raises(ValueError, match="owners"):
        DistributionTable(2, np.array([0, 2]))
    with pytest.raises(ValueError, match="partitions"):
        Placement(0)
    with pytest.raises(ValueError, match="smoothing"):
        Placement(1, smoothing=0.0)
