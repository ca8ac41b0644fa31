"""Journals of real decisions: the policy of the configuration, the guards and the simulator.

The loop is the one of the live controller but for its ports: what the page shows of these journals
is what it would show of an application with these arrivals.
"""

from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import numpy as np

from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import Configuration, FloatArray
from runtime.build import live_controller, live_power, simulated_space
from runtime.config import Config, load_config
from runtime.control.journal import StepJournal, StepRecord
from runtime.control.starts import Start, note_start
from tests.support.simulated_records import simulated_records

OPTIONS = (
    "slo.latency_ms=1500",
    "executors.max=8",
    "power.full_power_w=240",
    "limits.dead_time_s=3",
    "horizon.steps=5",
    "forecast.model=holt",
    "forecast.scenarios=40",
)
TRAITS = MicroBatchTraits(overhead_s=0.25, row_cycles=1.5e6, startup_s=3.0, startup_cv=0.1)


def config() -> Config:
    return load_config(None, OPTIONS)


@cache
def recorded(steps: int, seed: int = 1, began_s: float = 1_700_000_000.0) -> tuple[StepRecord, ...]:
    """A wave with noise and a sudden burst."""
    return tuple(_steps(steps, seed, began_s))


def reported_by_batch(
    records: tuple[StepRecord, ...], every: int, age_steps: int
) -> tuple[StepRecord, ...]:
    """As with a trigger of `every` steps: one step in so many tells what arrived, late, and how
    long it took; the others tell neither."""
    told = []
    for index, record in enumerate(records):
        measured = record.measurement
        if index % every == 0 and index >= age_steps:
            measured = replace(
                measured,
                arrivals_per_s=records[index - age_steps].measurement.arrivals_per_s,
                arrivals_age_s=age_steps * config().horizon.step_s,
                trigger_interval_s=float(every),
            )
        else:
            measured = replace(
                measured, arrivals_per_s=None, completions_per_s=None, latency_s=None, batches=()
            )
        told.append(replace(record, measurement=measured))
    return tuple(told)


def write(folder: Path, records: tuple[StepRecord, ...]) -> Path:
    settings = config()
    with StepJournal(folder, 64_000_000) as journal:
        space = simulated_space(settings)
        note_start(folder, Start(records[0].at_s - 1.0, "0.1.0", False, space, settings))
        for record in records:
            journal.append(record)
    return folder


def _steps(steps: int, seed: int, began_s: float) -> Iterator[StepRecord]:
    settings = config()
    space = simulated_space(settings)
    generator = np.random.default_rng(seed)
    start = Configuration(2, space.frequencies_khz[-1])
    rates_per_s = _rates(steps, generator)
    plant = MicroBatchPlant(rates_per_s, TRAITS, live_power(settings, space), start, generator)
    return simulated_records(live_controller(settings, space), plant, began_s)


def _rates(steps: int, generator: np.random.Generator) -> FloatArray:
    time = np.arange(steps)
    wave = 3500 + 2000 * np.sin(2 * np.pi * time / 240) + 500 * np.sin(2 * np.pi * time / 37)
    burst = np.where((time > steps * 0.6) & (time < steps * 0.6 + 25), 2500.0, 0.0)
    noisy = (wave + burst) * generator.normal(1.0, 0.04, steps)
    return np.asarray(np.maximum(noisy, 0.0), dtype=np.float64)
