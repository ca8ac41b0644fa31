"""The scenarios of the comparison: a workload, a latency threshold and the paper's parameters.

Real inputs are read from a data directory (`--data`, FORESIGHT_DATA, or `../shared/data` beside a
checkout); without it, a scenario generates a workload with the same statistics and says so.
"""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.workloads import rates as workloads
from benchmarks.workloads.keys import generated_key_frequencies, read_key_frequencies
from mpc.simulation.paper_machine import CAPACITY_TUPLES_PER_S
from mpc.simulation.series import RateSeries, TraceClock
from mpc.simulation.trace import TriggerTrace, Windows, draw_trace
from mpc.values import FloatArray
from runtime.rates import averaged_to, read_equity_ticks, read_rates, session_clock_s

EQUITY_DAYS = ("20131007", "20131008")
DEFAULT_STEP_S = 1.0
ACCELERATION = 100.0
"""How much faster than the market a trading day is played."""
MAX_STEPS = 600
"""A longer rate file is averaged down to so many steps, which plays it faster: every single tuple
is simulated, and a day of seconds would be billions of them."""
PEAK_LOAD = 0.9
"""Share of the plant's capacity that the busiest second of a scaled workload takes."""


@dataclass(frozen=True, slots=True)
class DayBefore:
    rates: RateSeries
    clock: TraceClock


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
    clock: TraceClock | None
    """Of a trace that was recorded at a known time."""
    days_before: tuple[DayBefore, ...]
    """Earlier days of the same source, in the same unit."""
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
    history: tuple[str, ...] = ()
    """Days before that one, which a policy remembers."""
    rates_file: Path | None = None
    rate_column: str | None = None
    peak_load: float = PEAK_LOAD
    max_steps: int = MAX_STEPS
    threshold_s: float | None = None
    step_s: float | None = None
    paper_forecast: str = "mean-3"


def build(request: ScenarioRequest) -> Scenario:
    if request.name not in _KINDS:
        raise ValueError(f"unknown scenario {request.name!r}; known: {', '.join(_KINDS)}")
    kind = _KINDS[request.name]
    keys, key_source = _keys(request.data)
    rate_source, rates = kind.rates(request)
    return Scenario(
        name=request.name,
        threshold_s=request.threshold_s or kind.threshold_s,
        lat_node_weight=kind.lat_node_weight,
        lat_power_weight=kind.lat_power_weight,
        step_s=request.step_s or DEFAULT_STEP_S,
        source=f"{rate_source}, {key_source}",
        rates=rates,
        key_frequencies=keys,
        clock=TraceClock(session_clock_s(request.day), ACCELERATION)
        if request.name == "equity-day"
        else None,
        days_before=tuple(_day_before(request, day) for day in request.history),
        paper_forecast=request.paper_forecast,
    )


def _keys(data: Path | None) -> tuple[FloatArray, str]:
    path = _existing(data, "paper/key_probabilities.txt")
    if path is None:
        return generated_key_frequencies(), "generated keys"
    return read_key_frequencies(path), "the paper's keys"


def _random_walk(request: ScenarioRequest) -> tuple[str, RateSource]:
    path = _existing(request.data, "paper/random_walk_rates.txt")
    if path is None:
        return "generated random walk", workloads.generated_random_walk
    return "the paper's random walk (Fig. 5a)", _always(workloads.read_random_walk(path))


def _paper_step(_request: ScenarioRequest) -> tuple[str, RateSource]:
    return "the paper's step (Fig. 6)", _always(workloads.step_change())


def _equity_day(request: ScenarioRequest) -> tuple[str, RateSource]:
    """Real ticks of a day; the keys are the paper's, as three symbols cannot load 12 replicas."""
    peak = request.peak_load * CAPACITY_TUPLES_PER_S
    path = _existing(request.data, f"quotes/us_equity_ticks_{request.day}.parquet")
    if path is not None:
        series = read_equity_ticks(path, ACCELERATION).scaled_to_peak(peak, over_s=1.0)
        return f"US equity ticks of {request.day}, 100 times faster", _always(series)

    def generated(random: np.random.Generator) -> RateSeries:
        return workloads.generated_equity_day(random).scaled_to_peak(peak, over_s=1.0)

    return "generated trading day", generated


def _day_before(request: ScenarioRequest, day: str) -> DayBefore:
    """In the unit of the day that is run: one and the same market feeds one and the same plant."""
    if day >= request.day:
        raise ValueError(f"--history {day} is not before the day that is run, {request.day}")
    found = []
    for each in (day, request.day):
        path = _existing(request.data, f"quotes/us_equity_ticks_{each}.parquet")
        if path is None:
            raise ValueError(f"no ticks of {each} in the data folder: say where it is with --data")
        found.append(path)
    earlier, today = (read_equity_ticks(each, ACCELERATION) for each in found)
    peak = request.peak_load * CAPACITY_TUPLES_PER_S
    factor = today.scaled_to_peak(peak, over_s=1.0).tuples_per_s.sum() / today.tuples_per_s.sum()
    return DayBefore(
        RateSeries(earlier.tuples_per_s * factor, earlier.bin_s),
        TraceClock(session_clock_s(day), ACCELERATION),
    )


def _replay(request: ScenarioRequest) -> tuple[str, RateSource]:
    if request.rates_file is None:
        raise ValueError("replay needs a rate file: --rates FILE")
    step_s = request.step_s or DEFAULT_STEP_S
    values = read_rates(request.rates_file, request.rate_column)
    rates = averaged_to(values, request.max_steps)
    series = workloads.series_from_steps(rates, step_s).scaled_to_peak(
        request.peak_load * CAPACITY_TUPLES_PER_S, over_s=step_s
    )
    faster = (
        f", {len(values):,} values averaged to {len(rates)}" if len(values) > len(rates) else ""
    )
    load = f", peak at {request.peak_load:.0%} load"
    return f"{request.rates_file.name}{faster}{load}", _always(series)


@dataclass(frozen=True, slots=True)
class _Kind:
    """Threshold and cost weights of De Matteis and Mencagli 2016 (Table 2), and where the rates
    come from.
    """

    threshold_s: float
    lat_node_weight: float
    lat_power_weight: float
    rates: Callable[[ScenarioRequest], tuple[str, RateSource]]


_KINDS = {
    "paper-random-walk": _Kind(1.5e-3, 2.0, 2.0, _random_walk),
    "paper-step": _Kind(1.5e-3, 2.0, 2.0, _paper_step),
    "equity-day": _Kind(7e-3, 3.0, 4.0, _equity_day),
    "replay": _Kind(1.5e-3, 2.0, 2.0, _replay),
}


def _always(series: RateSeries) -> RateSource:
    return lambda _random: series


def _existing(data: Path | None, relative: str) -> Path | None:
    if data is None:
        return None
    path = data / relative
    return path if path.is_file() else None
