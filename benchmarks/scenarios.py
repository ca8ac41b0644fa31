"""The scenarios of the comparison: a workload, a latency threshold and the paper's parameters.

Real inputs are read from a data directory (`--data`, FORESIGHT_DATA, or `../shared/data` beside a
checkout); without it, a scenario generates a workload with the same statistics and says so.
"""

import os
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.forecast_bench import read_rates
from benchmarks.plants.paper_machine import CAPACITY_TUPLES_PER_S
from benchmarks.workloads import rates as workloads
from benchmarks.workloads.keys import generated_key_frequencies, read_key_frequencies
from benchmarks.workloads.trace import RateSeries, TriggerTrace, Windows, draw_trace
from mpc.values import FloatArray

EQUITY_DAYS = ("20131007", "20131008")
PEAK_LOAD = 0.9
"""Share of the plant's capacity that the busiest second of a scaled workload takes."""


RateSource = Callable[[np.random.Generator], RateSeries]


@dataclass(frozen=True, slots=True)
class Scenario:
    name: str
    threshold_s: float
    lat_node_weight: float
    lat_power_weight: float
    step_s: float
    source: str
    """Where the rates come from, in words, for reports."""
    rates: RateSource
    key_frequencies: FloatArray
    paper_forecast: str
    """Forecaster of lat-node and lat-power; the paper names Holt-Winters, its code uses mean-3."""

    def trace(self, seed: int) -> TriggerTrace:
        """The stream of one repetition: same rates where they are read, new tuples by seed."""
        random = np.random.default_rng(seed)
        return draw_trace(self.rates(random), self.key_frequencies, Windows(), random)


@dataclass(frozen=True, slots=True)
class ScenarioRequest:
    """A scenario by name and options; small and picklable, so worker processes build their own."""

    name: str
    data: Path | None = None
    day: str = EQUITY_DAYS[0]
    rates_file: Path | None = None
    rate_column: str | None = None
    peak_load: float = PEAK_LOAD
    threshold_s: float | None = None
    step_s: float | None = None
    paper_forecast: str = "mean-3"


def default_data() -> Path | None:
    named = os.environ.get("FORESIGHT_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[1].parent / "shared" / "data"
    return beside if beside.is_dir() else None


def build(request: ScenarioRequest) -> Scenario:
    builders = {
        "paper-random-walk": _random_walk,
        "paper-step": _paper_step,
        "equity-day": _equity_day,
        "replay": _replay,
    }
    if request.name not in builders:
        raise ValueError(f"unknown scenario {request.name!r}; known: {', '.join(builders)}")
    return builders[request.name](request)


def _keys(data: Path | None) -> tuple[FloatArray, str]:
    path = _existing(data, "paper/key_probabilities.txt")
    if path is None:
        return generated_key_frequencies(), "generated keys"
    return read_key_frequencies(path), "the paper's keys"


def _random_walk(request: ScenarioRequest) -> Scenario:
    keys, key_source = _keys(request.data)
    path = _existing(request.data, "paper/random_walk_rates.txt")
    generate: RateSource = workloads.generated_random_walk
    source = f"generated random walk, {key_source}"
    if path is not None:
        series = workloads.read_random_walk(path)
        source = f"the paper's random walk (Fig. 5a), {key_source}"
        generate = _always(series)
    return Scenario(
        name=request.name,
        threshold_s=request.threshold_s or 1.5e-3,
        lat_node_weight=2.0,
        lat_power_weight=2.0,
        step_s=request.step_s or 1.0,
        source=source,
        rates=generate,
        key_frequencies=keys,
        paper_forecast=request.paper_forecast,
    )


def _paper_step(request: ScenarioRequest) -> Scenario:
    keys, key_source = _keys(request.data)
    return Scenario(
        name=request.name,
        threshold_s=request.threshold_s or 1.5e-3,
        lat_node_weight=2.0,
        lat_power_weight=2.0,
        step_s=request.step_s or 1.0,
        source=f"the paper's step (Fig. 6), {key_source}",
        rates=_always(workloads.step_change()),
        key_frequencies=keys,
        paper_forecast=request.paper_forecast,
    )


def _equity_day(request: ScenarioRequest) -> Scenario:
    """Real ticks of a day; the keys are the paper's, as three symbols cannot load 12 replicas."""
    keys, key_source = _keys(request.data)
    path = _existing(request.data, f"quotes/us_equity_ticks_{request.day}.parquet")
    peak = request.peak_load * CAPACITY_TUPLES_PER_S

    def generated(random: np.random.Generator) -> RateSeries:
        return workloads.generated_equity_day(random).scaled_to_peak(peak, over_s=1.0)

    generate: RateSource = generated
    source = f"generated trading day, {key_source}"
    if path is not None:
        series = workloads.read_equity_ticks(path).scaled_to_peak(peak, over_s=1.0)
        source = f"US equity ticks of {request.day}, 100 times faster, {key_source}"
        generate = _always(series)
    return Scenario(
        name=request.name,
        threshold_s=request.threshold_s or 7e-3,
        lat_node_weight=3.0,
        lat_power_weight=4.0,
        step_s=request.step_s or 1.0,
        source=source,
        rates=generate,
        key_frequencies=keys,
        paper_forecast=request.paper_forecast,
    )


def _replay(request: ScenarioRequest) -> Scenario:
    if request.rates_file is None:
        raise ValueError("replay needs a rate file: --rates FILE")
    keys, key_source = _keys(request.data)
    step_s = request.step_s or 1.0
    peak = request.peak_load * CAPACITY_TUPLES_PER_S
    series = workloads.series_from_steps(
        read_rates(request.rates_file, request.rate_column), step_s
    ).scaled_to_peak(peak, over_s=step_s)
    return Scenario(
        name=request.name,
        threshold_s=request.threshold_s or 1.5e-3,
        lat_node_weight=2.0,
        lat_power_weight=2.0,
        step_s=step_s,
        source=f"{request.rates_file.name}, peak at {request.peak_load:.0%} load, {key_source}",
        rates=_always(series),
        key_frequencies=keys,
        paper_forecast=request.paper_forecast,
    )


def _always(series: RateSeries) -> RateSource:
    return lambda _random: series


def _existing(data: Path | None, relative: str) -> Path | None:
    if data is None:
        return None
    path = data / relative
    return path if path.is_file() else None
