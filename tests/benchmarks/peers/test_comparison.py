"""Peers side by side: rows, report and verdict from one run of each policy on a small trace."""

import json
from pathlib import Path

import numpy as np
import pytest
import typer
from typer.testing import CliRunner

from benchmarks.peers import command as peers
from benchmarks.peers.catalogue import (
    ALL_POLICIES,
    check_policies,
    configured,
    make_policy,
    space_of,
)
from benchmarks.peers.comparison import PeerRow, compare
from benchmarks.peers.setting import PeerSetting
from benchmarks.peers.verdict import verdict
from mpc.controller import Controller
from mpc.simulation.run import control


@pytest.fixture(scope="module")
def rates_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two waves between a tenth and all of the peak, in 120 steps of 5 s."""
    step = np.arange(120)
    file = tmp_path_factory.mktemp("peers") / "waves.csv"
    rates = 55.0 - 45.0 * np.cos(step / 60.0 * 2.0 * np.pi)
    file.write_text("\n".join(f"{rate:.3f}" for rate in rates))
    return file


def measured(file: Path, *policies: str, seed: int = 1) -> dict[str, PeerRow]:
    setting = PeerSetting(file)
    rows, comparison = compare(setting, policies, configured(setting, None, ()), seed=seed)
    assert [run.row.policy for run in comparison.runs] == list(policies)
    return {row.policy: row for row in rows}


def test_foresight_keeps_the_target_with_less_energy_than_peak_and_hpa(rates_file: Path) -> None:
    rows = measured(rates_file, "foresight", "foresight-executors", "peak", "hpa")
    assert rows["peak"].executor_hours == pytest.approx(20 * 600 / 3600)
    assert rows["peak"].reconfigurations == 0
    assert rows["foresight"].over_target_fraction <= rows["hpa"].over_target_fraction
    assert rows["foresight"].over_target_fraction < 0.03
    assert rows["foresight"].energy_j < 0.9 * rows["peak"].energy_j
    assert rows["foresight"].energy_j < rows["hpa"].energy_j
    # At the highest frequency executors are all it can save.
    assert rows["foresight"].energy_j < rows["foresight-executors"].energy_j
    assert rows["foresight-executors"].energy_j < rows["peak"].energy_j


def test_dynamic_allocation_never_shrinks_on_a_busy_stream(rates_file: Path) -> None:
    rows = measured(rates_file, "spark-dra", "peak")
    assert rows["spark-dra"].executor_hours == rows["peak"].executor_hours


def test_the_same_seed_gives_the_same_run_and_another_one_another(rates_file: Path) -> None:
    first, again, other = (measured(rates_file, "hpa", seed=seed)["hpa"] for seed in (1, 1, 2))
    assert first.energy_j == again.energy_j
    assert first.energy_j != other.energy_j


@pytest.mark.parametrize("name", ALL_POLICIES)
def test_every_policy_is_built_for_the_cluster(name: str, rates_file: Path) -> None:
    setting = PeerSetting(rates_file)
    policy = make_policy(name, setting, configured(setting, None, ()), seed=1)
    plant = setting.plant(np.full(3, 5_000.0), seed=1)
    controller = Controller.of(policy, space_of(name), setting.target_s, setting.step_s)
    assert len(list(control(controller, plant))) == 3


@pytest.mark.parametrize("name", ["static-21", "forsight", "static-0"])
def test_unknown_policies_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=r"executors|unknown policy"):
        check_policies([name])


def test_the_trigger_interval_is_told_and_the_user_has_the_last_word(rates_file: Path) -> None:
    told = configured(PeerSetting(rates_file), None, ["policies.spark-dra.batch_interval_s=7"])
    assert told.policies.spark_ratio.batch_interval_s == 2.0
    assert told.policies.spark_dra.batch_interval_s == 7.0


def row(policy: str, over: float, energy_j: float) -> PeerRow:
    return PeerRow(policy, "trace", 1, 100, over, 1.0, energy_j, 0, 1.0, 1.0, 1.0, 0.1)


def test_the_verdict_compares_with_the_best_and_with_equals() -> None:
    rows = [
        row("foresight", 0.002, 80.0),
        row("foresight-executors", 0.0, 90.0),
        row("hpa", 0.011, 100.0),
        row("ds2", 0.2, 50.0),
        row("peak", 0.001, 120.0),
    ]
    found = verdict(rows)
    assert found is not None
    assert (found.best_peer, found.best_peer_over_target) == ("peak", 0.001)
    assert found.cheapest_equal == "hpa"
    assert found.energy_saved == pytest.approx(0.2)
    assert "20.0% less energy than hpa" in found.sentence


def test_no_verdict_without_foresight_or_a_peer() -> None:
    assert verdict([row("hpa", 0.0, 1.0)]) is None
    assert verdict([row("foresight", 0.0, 1.0), row("foresight-executors", 0.0, 1.0)]) is None


def test_the_command_writes_rows_and_a_report(rates_file: Path, tmp_path: Path) -> None:
    app = typer.Typer()
    app.callback()(lambda: None)
    peers.add_to(app)
    rows_file, report = tmp_path / "rows.json", tmp_path / "report.html"
    result = CliRunner().invoke(
        app,
        [
            *("peers", "--rates", str(rates_file), "--policies", "peak,hpa", "--repeat", "2"),
            *("--max-steps", "40", "--processes", "1"),
            *("--json", str(rows_file), "--report", str(report)),
        ],
    )
    assert result.exit_code == 0, result.output
    document = json.loads(rows_file.read_text())
    assert document["scenario"] == "peers"
    assert [(each["policy"], each["seed"]) for each in document["rows"]] == [
        ("peak", 1),
        ("peak", 2),
        ("hpa", 1),
        ("hpa", 2),
    ]
    assert {each["steps"] for each in document["rows"]} == {40}
    assert "waves.csv, 3 values a step" in report.read_text()
