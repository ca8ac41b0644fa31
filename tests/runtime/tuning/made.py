"""Small traces, tasks and outcomes for the tests of the tuning."""

import numpy as np

from runtime.config import load_config
from runtime.tuning.cluster import sized_for
from runtime.tuning.jobs import Task
from runtime.tuning.outcome import TuningOutcome
from runtime.tuning.trace import Trace


def wave(duration_s: int = 1200, period_s: float = 300.0) -> Trace:
    times_s = np.arange(duration_s)
    rates = 1000.0 * (1.0 + 0.6 * np.sin(2 * np.pi * times_s / period_s))
    return Trace(rates, 1.0, "wave")


def small_task(seed: int = 1) -> Task:
    config = load_config(
        None,
        [
            "slo.latency_ms=5000.0",
            "horizon.step_s=5.0",
            "executors.max=4",
            "frequency.list_khz=[1200000, 2000000]",
            "forecast.scenarios=10",
        ],
    )
    trace = wave()
    return Task(trace, config, sized_for(trace, config), seed)


def outcome(
    *,
    violations: int = 0,
    energy_j: float = 1000.0,
    strained: int = 0,
    reconfigurations: int = 0,
    windows: int = 100,
) -> TuningOutcome:
    return TuningOutcome(windows, violations, strained, energy_j, reconfigurations, 5.0 * windows)
