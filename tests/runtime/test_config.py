"""A good configuration is read as it is written, and what is left out takes its default."""

import subprocess
import sys
from pathlib import Path

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.policies.ds2.options import Ds2Options
from mpc.policies.hpa.options import HpaOptions
from mpc.policies.spark_ratio.options import SparkRatioOptions
from runtime.config import Config, load_config


def test_no_file_and_an_empty_file_are_the_defaults(tmp_path: Path) -> None:
    (tmp_path / "empty.toml").touch()
    assert load_config(None) == load_config(tmp_path / "empty.toml") == Config()


def test_the_defaults_of_the_issue() -> None:
    config = load_config(None)
    assert config.policy == "foresight"
    assert (config.slo.latency_ms, config.slo.quantile) == (1000.0, None)
    assert config.cost.weights.latency == 1.0
    assert config.cost.weights.resource == 0.5
    assert config.cost.weights.switching == 0.02
    assert (config.horizon.steps, config.horizon.step_s) == (2, 1.0)
    assert config.frequency.nominal_khz == tuple(range(1_200_000, 2_000_001, 100_000))
    assert config.limits.power_cap_w is None


def test_every_section_is_read(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        policy = "static-4"
        slo.latency_ms = 7
        cost = { alpha = 4, resource = "executors" }
        [executors]
        min = 2
        max = 8
        [frequency]
        list_khz = [1_000_000, 1_500_000]
        [forecast]
        model = "holt-winters"
        season_steps = 60
        [limits]
        power_cap_w = 60
        """
    )
    config = load_config(path)
    assert config.policy == "static-4"
    assert config.slo.latency_ms == 7.0
    assert isinstance(config.slo.latency_ms, float)
    assert (config.cost.weights.latency, config.cost.resource) == (4.0, "executors")
    assert config.frequency.nominal_khz == (1_000_000, 1_500_000)
    assert config.forecast.season_steps == 60
    assert config.limits.power_cap_w == 60.0


def test_a_policy_has_a_table_of_its_own(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text(
        """
        policy = "spark-ratio"
        seed = 7
        [policies.spark-ratio]
        upper = 0.9
        [policies]
        ds2 = { boundary = 0.2 }
        """
    )
    config = load_config(path, ["policies.spark-ratio.lower=0.5", "policies.hpa.tolerance = 0.2"])
    assert (config.policy, config.seed) == ("spark-ratio", 7)
    ratio, ds2, hpa = (config.options_of(name) for name in ("spark-ratio", "ds2", "hpa"))
    assert isinstance(ratio, SparkRatioOptions)
    assert isinstance(ds2, Ds2Options)
    assert isinstance(hpa, HpaOptions)
    assert (ratio.lower, ratio.upper, ratio.scaling_interval_s) == (0.5, 0.9, 60.0)
    assert ds2.boundary == 0.2
    assert hpa.tolerance == 0.2


def test_reading_a_configuration_imports_nothing_that_decides() -> None:
    """The agent reads its own with the same code and must stay small."""
    code = "import sys, runtime.config; sys.exit('numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_overrides_win_over_the_file_and_the_last_one_over_the_others(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[cost]\nalpha = 2\nbeta = 0.25")
    config = load_config(path, ["cost.alpha=3", "cost.alpha = 4.5"])
    assert config.cost.weights.latency == 4.5
    assert config.cost.weights.resource == 0.25


@pytest.mark.parametrize("text", ["holt", '"holt"', "'holt'", " holt "])
def test_text_in_an_override_needs_no_quotes(text: str) -> None:
    assert load_config(None, [f"forecast.model={text}"]).forecast.model == "holt"


def test_a_list_of_frequencies_in_an_override_replaces_the_range_of_the_file(
    tmp_path: Path,
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[frequency]\nmin_khz = 1000000\nmax_khz = 3000000\nstep_khz = 1000000")
    config = load_config(path, ["frequency.list_khz=[1500000]"])
    assert config.frequency.nominal_khz == (1_500_000,)


def test_a_mean_over_scenarios_needs_no_tail() -> None:
    config = load_config(None, ["forecast.risk=mean", "forecast.scenarios=1"])
    assert config.forecast.scenarios == 1


def test_a_configuration_cannot_be_changed() -> None:
    weight = "latency_weight"
    with pytest.raises(AttributeError):
        setattr(load_config(None).cost, weight, 2.0)


@given(
    low_khz=st.integers(10_000, 5_000_000),
    step_khz=st.integers(1, 1_000_000),
    steps=st.integers(0, 255),
)
def test_a_range_of_frequencies_holds_both_ends_and_equal_steps(
    low_khz: int, step_khz: int, steps: int
) -> None:
    high_khz = low_khz + steps * step_khz
    if high_khz > 10_000_000:
        return
    table = f"frequency={{min_khz = {low_khz}, max_khz = {high_khz}, step_khz = {step_khz}}}"
    frequencies = load_config(None, [table]).frequency.nominal_khz
    assert (frequencies[0], frequencies[-1]) == (low_khz, high_khz)
    assert len(frequencies) == steps + 1


def test_what_is_read_is_what_msgspec_would_write() -> None:
    config = load_config(None, ["cost.alpha=2"])
    assert msgspec.to_builtins(config)["cost"]["alpha"] == 2.0
