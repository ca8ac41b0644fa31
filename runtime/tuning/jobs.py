"""One simulation: a candidate on a block of the trace. The same anywhere, by its seed."""

import hashlib
from copy import deepcopy
from dataclasses import dataclass

import msgspec
import numpy as np

from forecasting.memory import RateMemory, remembered
from forecasting.profile import DAY_S
from mpc.simulation.run import simulate
from mpc.simulation.series import TraceClock
from mpc.simulation.spark_cluster import SimulatedCluster
from runtime.build import live_controller, live_power
from runtime.config import Config
from runtime.control.memory_file import give_memory
from runtime.tuning.cluster import space_of, with_watts
from runtime.tuning.knobs import Knobs
from runtime.tuning.outcome import TuningOutcome, counted
from runtime.tuning.trace import Trace, TraceBlock

REMEMBERED_STEP_S = 60.0
"""What came before a block is remembered by the minute, as the profile of the day is kept."""
WARM_UP_S = 120.0
"""The policy knows nothing at first, and nobody runs a stream for minutes only: not counted."""

_SECTIONS = (
    "slo",
    "cost",
    "horizon",
    "executors",
    "frequency",
    "forecast",
    "limits",
    "latency",
    "power",
)
"""Of the configuration: what a simulation depends on."""


@dataclass(frozen=True, slots=True)
class Task:
    """What all simulations of a tuning share."""

    trace: Trace
    config: Config
    cluster: SimulatedCluster
    seed: int

    @property
    def fingerprint(self) -> str:
        """Of everything an outcome depends on but the candidate and the block."""
        parts = (
            self.trace.rates_per_s.tobytes(),
            repr(
                (self.trace.bin_s, self.trace.begin_s, self.cluster, self.seed, WARM_UP_S)
            ).encode(),
            *(msgspec.json.encode(getattr(self.config, name)) for name in _SECTIONS),
        )
        return hashlib.sha256(b"\0".join(parts)).hexdigest()[:16]

    def job(self, knobs: Knobs, block: TraceBlock) -> "TuningJob":
        begin_s = max(block.begin_s - WARM_UP_S, 0.0)
        return TuningJob(
            config=knobs.applied_to(self.config),
            cluster=self.cluster,
            trace=self.trace.part(begin_s, block.end_s),
            warm_up_s=block.begin_s - begin_s or min(WARM_UP_S, (block.end_s - begin_s) / 4.0),
            seed=(self.seed, round(block.begin_s)),
            memory=self._memory(begin_s),
        )

    def _memory(self, until_s: float) -> RateMemory | None:
        """Of the trace before a block, and never of what comes in it."""
        before = self.trace.part(0.0, until_s)
        if before.begin_s is None or before.duration_s < DAY_S:
            return None
        step_s = max(REMEMBERED_STEP_S, before.bin_s)
        return remembered(before.at_step(step_s), before.begin_s, step_s)


@dataclass(frozen=True, slots=True)
class TuningJob:
    """Small and picklable; carries its own part of the trace."""

    config: Config
    cluster: SimulatedCluster
    trace: Trace
    warm_up_s: float
    seed: tuple[int, int]
    memory: RateMemory | None = None
    """Of the days before; None where the trace has none."""


def job_key(knobs: Knobs, block: TraceBlock) -> str:
    """Names an outcome within one task."""
    return f"{knobs!r} @ {block.begin_s:.3f}-{block.end_s:.3f}"


def run_job(job: TuningJob) -> TuningOutcome:
    """Deterministic. Noise is the same for every candidate that starts as many batches."""
    config, space = with_watts(job.config), space_of(job.config)
    step_s = config.horizon.step_s
    generator = np.random.default_rng(job.seed)
    rates_per_s = job.trace.at_step(step_s)
    begin_s = job.trace.begin_s
    plant = job.cluster.plant(
        rates_per_s,
        live_power(config, space),
        space,
        generator,
        step_s,
        config.slo.latency_s,
        None if begin_s is None else TraceClock(begin_s),
    )
    controller = live_controller(config, space)
    if job.memory is not None:
        give_memory(controller, deepcopy(job.memory))  # it goes on learning
    simulate(controller, plant)
    return counted(
        plant.finished,
        [record.power_w for record in plant.records],
        [record.configuration for record in plant.records],
        step_s=step_s,
        target_s=config.slo.latency_s,
        quantile=config.slo.quantile,
        warm_up_s=job.warm_up_s,
    )
