"""What a comparison on a cluster is made of, without a cluster."""

from pathlib import Path

import msgspec
import numpy as np
import pytest

from benchmarks.hft.calibration.run import arrivals
from benchmarks.hft.comparison import compare, running
from benchmarks.hft.demo_load import WAVE
from benchmarks.hft.experiment import HftExperiment
from benchmarks.hft.setting import GivenCluster, HftSetting, described
from benchmarks.hft.stream.replay import Replay
from benchmarks.results import Provenance
from mpc.policies.spark_ratio.options import SparkRatioOptions
from runtime.config import ConfigError


def test_a_given_cluster_is_used_as_it_is(tmp_path: Path) -> None:
    given = GivenCluster("spark://10.0.0.1:7077", ("10.0.0.2=unix:/run/a.sock",), executors=8)
    setting = HftSetting(cluster=given, target_s=2.0, seed=7, overrides=("cost.alpha=3",))
    with running(given, tmp_path, print) as cluster:
        experiment = HftExperiment("spark-ratio", setting, cluster, str(tmp_path / "run"))
    assert msgspec.json.decode(msgspec.json.encode(experiment), type=HftExperiment) == experiment
    config = experiment.config
    assert experiment.cluster.master_url == given.master_url
    assert config.policy == "spark-ratio"
    assert config.agents.urls == given.agents
    assert config.executors.max == 8
    assert config.slo.latency_ms == 2000.0
    assert config.cost.latency_weight == 3.0
    ratio = config.options_of("spark-ratio")
    assert isinstance(ratio, SparkRatioOptions)
    assert ratio.batch_interval_s == setting.trigger_interval_s
    assert experiment.replay.seed == 7
    assert experiment.cluster.java_options is None


@pytest.mark.parametrize(
    ("policies", "agents", "mistake"),
    [
        (["peak", "peek"], (), "policy = .peek.: must be one of"),
        (["peak"], ("10.0.0.2=/run/a.sock",), "agents.urls"),
    ],
)
def test_a_mistake_is_told_before_any_driver_starts(
    policies: list[str], agents: tuple[str, ...], mistake: str
) -> None:
    started: list[str] = []
    setting = HftSetting(cluster=GivenCluster("spark://10.0.0.1:7077", agents, executors=8))
    with pytest.raises(ConfigError, match=mistake):
        compare(policies, setting, started.append, lambda _policy, _step: None)
    assert started == []


@pytest.mark.parametrize(
    ("replay", "words"),
    [
        (WAVE, "a wave of"),
        (Replay(rate="constant", peak_per_s=50.0), "constant up to 50 quotes/s"),
        (Replay(path="/data/day.parquet", acceleration=10.0), "10 times as fast as recorded"),
        (Replay(path="/data/day.parquet", rate="wave"), "quotes of day.parquet, a wave of 2500"),
    ],
)
def test_the_load_is_told_in_words(replay: Replay, words: str) -> None:
    assert words in described(replay)


def test_arrivals_are_those_of_the_schedule() -> None:
    replay = Replay(rate="wave", peak_per_s=100.0, trough_per_s=20.0, period_s=10.0)
    found = arrivals(replay, after_s=5.0, steps=10, step_s=1.0)
    assert found.sum() == pytest.approx(600.0, abs=1.0)
    assert np.argmax(found) in (0, 9)


def test_what_is_only_emulated_says_so() -> None:
    assert "emulated" in Provenance("spark", "emulated").sentence
    assert Provenance("spark", "measured").figures == "measured"
    assert Provenance("simulation", "simulated").figures == "simulated"
