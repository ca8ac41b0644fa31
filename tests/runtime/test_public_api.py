"""The names applications import."""

import pytest

import foresight
from benchmarks.mpc_paper.sweep import simulate
from runtime.config import load_config
from runtime.spark.attach import attach
from runtime.spark.sensing.observe import observe


def test_the_exported_names() -> None:
    assert foresight.__all__ == ["attach", "load_config", "observe", "simulate"]
    assert foresight.attach is attach
    assert foresight.observe is observe
    assert foresight.load_config is load_config
    assert foresight.simulate is simulate


def test_simulate_runs_a_policy_on_a_scenario() -> None:
    comparison = foresight.simulate("paper-step", ["static-9"], seed=3)
    assert comparison.scenario == "paper-step"
    (run,) = comparison.runs
    assert (run.row.policy, run.row.seed, run.row.steps) == ("static-9", 3, 45)
    assert run.row.mean_executors < 9.1


def test_an_unknown_name_is_an_attribute_error() -> None:
    name = "no_such_name"
    with pytest.raises(AttributeError, match="no attribute 'no_such_name'"):
        getattr(foresight, name)
