"""The simulated twin of the demo draws and lasts as the emulated hosts did, and runs the live
controller."""

import math
from dataclasses import replace

import pytest

from benchmarks.hft.rounds import HftRound
from benchmarks.hft.setting import GivenCluster, HftSetting
from benchmarks.hft.twin import Twin, compare_simulated
from mpc.values import ArrivalsOrigin

SETTING = HftSetting()


def test_peak_is_as_on_the_emulated_hosts() -> None:
    """There: 36 to 40 W and 10.2 to 10.9 s, late in 0 to 7 steps of 180."""
    row = Twin().run("peak", SETTING).row
    assert row.steps == 180
    assert row.violations <= 7
    assert 35.0 < row.mean_power_w < 41.0
    assert 10.0 < row.latency_mean_s < 11.5
    assert (row.executor_changes, row.frequency_changes) == (0, 0)


@pytest.mark.parametrize("told_by", ["source", "batch"])
def test_foresight_saves_energy_there(told_by: ArrivalsOrigin) -> None:
    peak = Twin(told_by=told_by).run("peak", SETTING).row
    run = Twin(told_by=told_by).run("foresight", SETTING)
    assert run.row.energy_j < 0.95 * peak.energy_j
    assert run.row.frequency_changes > 0
    assert all(value is not None for value in run.series.latency_s)


def test_what_is_told_by_the_source_is_foreseen_better() -> None:
    errors = {}
    for told_by in ("source", "batch"):
        series = Twin(told_by=told_by).run("foresight", SETTING).series
        truth = Twin(told_by="source").run("peak", SETTING).series.arrivals_per_s
        known = [
            abs(expected - came) / came
            for expected, came in zip(series.expected_per_s, truth, strict=True)
            if expected is not None
        ]
        errors[told_by] = math.fsum(known) / len(known)
    assert errors["source"] < 0.5 * errors["batch"]


def test_the_same_seed_is_the_same_run_and_rounds_have_their_own() -> None:
    short = replace(SETTING, warm_up_s=160.0, duration_s=30.0)
    seen: list[HftRound] = []
    found = compare_simulated(["peak", "static-3"], short, "source", 2, seen.append)
    assert [(row.policy, row.round, row.seed) for row in seen] == [
        ("peak", 1, 1),
        ("static-3", 1, 1),
        ("static-3", 2, 2),
        ("peak", 2, 2),
    ]
    assert found.provenance.backend == "simulation"
    assert Twin(seed=1).run("peak", short).row.energy_j == seen[0].energy_j
    assert seen[3].energy_j != seen[0].energy_j


def test_a_cluster_of_the_user_has_no_twin() -> None:
    given = replace(SETTING, cluster=GivenCluster("spark://host:7077", (), 4))
    with pytest.raises(TypeError, match="emulated hosts"):
        Twin().run("peak", given)
