"""The four properties of section 5.3 of the MPC paper and its savings, on the paper's own files."""

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

from benchmarks.mpc_paper.catalogue import PAPER_POLICIES
from benchmarks.mpc_paper.comparison import PaperJob, run_job
from benchmarks.mpc_paper.scenarios import ScenarioRequest
from benchmarks.results import Row, Run
from runtime.config import load_config

POLICIES = [name for name in PAPER_POLICIES if name == "peak" or name.startswith("lat-")]
SEEDS = (1, 2, 3)


@pytest.fixture(scope="module")
def runs(shared_data: Path) -> Mapping[str, list[Run]]:
    request = ScenarioRequest("paper-random-walk", data=shared_data)
    config = load_config(None)
    jobs = [
        PaperJob(request, policy, seed, config, policy) for seed in SEEDS for policy in POLICIES
    ]
    done = [run_job(job) for job in jobs]
    return {policy: [run for run in done if run.row.policy == policy] for policy in POLICIES}


def mean(runs: Mapping[str, list[Run]], policy: str, field: str) -> float:
    return float(np.mean([getattr(run.row, field) for run in runs[policy]]))


def saving(runs: Mapping[str, list[Run]], policy: str, against: str) -> float:
    """Per cent of power."""
    ours, theirs = mean(runs, policy, "mean_power_w"), mean(runs, against, "mean_power_w")
    return 100 * (1 - ours / theirs)


def test_the_run_triggers_about_as_many_windows_as_the_artifact(
    runs: Mapping[str, list[Run]],
) -> None:
    assert runs["peak"][0].windows == pytest.approx(2_158_649, rel=0.01)


def test_lat_power_saves_what_the_paper_measured(runs: Mapping[str, list[Run]]) -> None:
    assert saving(runs, "lat-power-nosw", "lat-node-nosw") == pytest.approx(18.2, abs=4)
    assert saving(runs, "lat-power-nosw", "peak") == pytest.approx(29, abs=5)


def test_the_service_time_is_calibrated_to_the_artifact(runs: Mapping[str, list[Run]]) -> None:
    assert mean(runs, "lat-node-nosw", "mean_executors") == pytest.approx(9.657, abs=0.1)
    peak = runs["peak"][0]
    assert peak.row.violations == 0
    assert peak.row.latency_p99_s < 5e-3  # far from saturation


@pytest.mark.parametrize("kind", ["lat-node", "lat-power"])
def test_switching_cost_lowers_reconfigurations_and_a_longer_horizon_gives_some_back(
    runs: Mapping[str, list[Run]], kind: str
) -> None:
    counts = [
        mean(runs, f"{kind}-{variant}", "reconfigurations")
        for variant in ("h1", "h2", "h3", "nosw")
    ]
    assert counts == sorted(counts)
    assert counts[0] < counts[-1]


def test_switching_cost_lowers_violations(runs: Mapping[str, list[Run]]) -> None:
    """Lat-node has none to lower here: with and without the switching cost."""
    without = mean(runs, "lat-power-nosw", "violations")
    for variant in ("h1", "h2", "h3"):
        assert mean(runs, f"lat-power-{variant}", "violations") < without
        assert mean(runs, f"lat-node-{variant}", "violations") <= mean(
            runs, "lat-node-nosw", "violations"
        )


@pytest.mark.parametrize(
    ("kind", "resource"), [("lat-node", "mean_executors"), ("lat-power", "mean_power_w")]
)
def test_switching_cost_overshoots_and_a_longer_horizon_mends_it(
    runs: Mapping[str, list[Run]], kind: str, resource: str
) -> None:
    without = mean(runs, f"{kind}-nosw", resource)
    used = [mean(runs, f"{kind}-{variant}", resource) for variant in ("h1", "h2", "h3")]
    assert used[0] > without
    assert used == sorted(used, reverse=True)
    assert used[2] - without < used[0] - without


@pytest.mark.parametrize("kind", ["lat-node", "lat-power"])
def test_switching_cost_lowers_the_amplitude(runs: Mapping[str, list[Run]], kind: str) -> None:
    """Property 4; the amplitude of the shortest horizon is the smallest."""
    without = mean(runs, f"{kind}-nosw", "amplitude")
    h1 = mean(runs, f"{kind}-h1", "amplitude")
    assert h1 <= without
    assert h1 <= mean(runs, f"{kind}-h3", "amplitude") + 1e-9


def test_a_row_has_the_fields_of_the_json_contract(runs: Mapping[str, list[Run]]) -> None:
    assert list(Row.__dataclass_fields__) == [
        "policy", "seed", "steps", "violations", "violation_fraction", "reconfigurations",
        "executor_changes", "frequency_changes", "mean_executors", "mean_power_w", "energy_j",
        "amplitude", "latency_mean_s", "latency_p95_s", "latency_p99_s", "decision_ms_p50",
        "decision_ms_p99",
    ]  # fmt: skip
    row = runs["lat-power-h2"][0].row
    assert row.steps == 180
    assert row.energy_j == pytest.approx(row.mean_power_w * 180)
    assert row.violation_fraction == row.violations / 180
