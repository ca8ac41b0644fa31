"""One simulation: a candidate on a block of the trace. The same anywhere, by its seed."""

import hashlib
from dataclasses import dataclass

import msgspec
import numpy as np

from mpc.simulation.run import simulate
from mpc.simulation.spark_cluster import SimulatedCluster
from runtime.build import live_controller, live_power
from runtime.config import Config
from runtime.tuning.cluster import space_of, with_watts
from runtime.tuning.knobs import Knobs
from runtime.tuning.outcome import TuningOutcome, counted
from runtime.tuning.trace import Trace, TraceBlock

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
            repr((self.trace.bin_s, self.cluster, self.seed, WARM_UP_S)).encode(),
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
        )


@dataclass(frozen=True, slots=True)
class TuningJob:
    """Small and picklable; carries its own part of the trace."""

    config: Config
    cluster: SimulatedCluster
    trace: Trace
    warm_up_s: float
    seed: tuple[int, int]


def job_key(knobs: Knobs, block: TraceBlock) -> str:
    """Names an outcome within one task."""
    return f"{knobs!r} @ {block.begin_s:.3f}-{block.end_s:.3f}"


def run_job(job: TuningJob) -> TuningOutcome:
    """Deterministic. Noise is the same for every candidate that starts as many batches."""
    config, space = with_watts(job.config), space_of(job.config)
    step_s = config.horizon.step_s
    generator = np.random.default_rng(job.seed)
    rates_per_s = job.trace.at_step(step_s)
    plant = job.cluster.plant(rates_per_s, live_power(config), space, generator, step_s)
    simulate(live_controller(config, space), plant)
    return counted(
        plant.finished,
        [record.power_w for record in plant.records],
        [record.configuration for record in plant.records],
        step_s=step_s,
        target_s=config.slo.latency_s,
        warm_up_s=job.warm_up_s,
    )
