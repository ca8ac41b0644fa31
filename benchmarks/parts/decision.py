"""Time of one whole decision of the default policy, on a run that is like a live one.

The controller that runs live steers the Spark-like plant through a noisy wave: it learns from every
batch, refits its forecast, draws its scenarios, builds the cost tables, solves, and weighs the
alternatives. Each timing is one whole step of the controller; compilation and the first steps,
before the forecast has any history, are not among them.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from mpc.controller import Controller
from mpc.policies.foresight.options import ForesightOptions
from mpc.policies.foresight.reach import reach_of
from mpc.simulation.run import ControlStep, control
from mpc.simulation.spark_cluster import SimulatedCluster, row_cycles_for
from mpc.values import ConfigurationSpace, FloatArray
from runtime.build import live_controller, live_power, simulated_space
from runtime.config import Config, load_config

SIZES = ((12, 9), (100, 9), (1000, 16))
"""Executors and frequencies."""
STARTUP_S = 7.0
OVERHEAD_S = 0.2
PEAK_PER_S = 8000.0
PEAK_LOAD = 0.8
WAVE_STEPS = 250.0
NOISE = 0.05
LEARNING_STEPS = 240
"""Steps before the first timed one: until the forecast has all the error paths that it keeps."""
SEED = 1


@dataclass(frozen=True, slots=True)
class DecisionRow:
    executors: int
    frequencies: int
    horizon: int
    dead_time_steps: int
    ms_p50: float
    ms_p99: float
    cpu_ms_p50: float
    cpu_ms_p99: float
    """Without the time that the process waited for a core."""
    steps: int
    """Timed."""


def decision_rows(steps: int, progress: Callable[[str], None] | None = None) -> list[DecisionRow]:
    """One row a size, each over `steps` timed steps; `progress` gets its name before it starts."""
    rows = []
    for executors, frequencies in SIZES:
        if progress is not None:
            progress(f"{executors} x {frequencies}")
        rows.append(_measured(executors, frequencies, steps))
    return rows


def _measured(executors: int, frequencies: int, steps: int) -> DecisionRow:
    config = _config(executors, frequencies)
    space = simulated_space(config)
    timed = timed_steps(config, space, steps)
    wall_ms = [step.decision_ms for step in timed]
    cpu_ms = [step.decision_cpu_ms for step in timed]
    reach = reach_of(ForesightOptions(), STARTUP_S, config.horizon.step_s)
    return DecisionRow(
        executors=executors,
        frequencies=frequencies,
        horizon=reach.horizon_steps,
        dead_time_steps=reach.dead_time_steps,
        ms_p50=float(np.quantile(wall_ms, 0.5)),
        ms_p99=float(np.quantile(wall_ms, 0.99)),
        cpu_ms_p50=float(np.quantile(cpu_ms, 0.5)),
        cpu_ms_p99=float(np.quantile(cpu_ms, 0.99)),
        steps=len(timed),
    )


def _config(executors: int, frequencies: int) -> Config:
    highest_khz = 1_200_000 + (frequencies - 1) * 100_000
    return load_config(
        None, [f"executors.max={executors}", f"frequency.max_khz={highest_khz}", f"seed={SEED}"]
    )


def timed_steps(config: Config, space: ConfigurationSpace, steps: int) -> list[ControlStep]:
    """The last `steps` of a run."""
    controller: Controller = live_controller(config, space)
    cluster = SimulatedCluster(
        row_cycles_for(PEAK_PER_S, space, PEAK_LOAD),
        overhead_s=OVERHEAD_S,
        trigger_interval_s=None,
        startup_s=STARTUP_S,
    )
    generator = np.random.default_rng(SEED)
    rates = noisy_wave(LEARNING_STEPS + steps, generator)
    plant = cluster.plant(rates, live_power(config, space), space, generator, config.horizon.step_s)
    return list(control(controller, plant))[LEARNING_STEPS:]


def noisy_wave(steps: int, generator: np.random.Generator) -> FloatArray:
    wave = 0.6 + 0.4 * np.sin(np.arange(steps) * 2.0 * np.pi / WAVE_STEPS)
    return np.asarray(PEAK_PER_S * wave * generator.normal(1.0, NOISE, steps).clip(0.5))
