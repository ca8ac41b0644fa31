"""One hour of one policy on the thesis's workload, and what became of latency and executors."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.thesis.workload import BATCH_S, FREQUENCY_KHZ, ThesisWorkload
from energy.power import prior_power
from mpc.controller import Controller
from mpc.ports import Policy
from mpc.simulation.micro_batch import MicroBatchTraits
from mpc.simulation.queued_batches import QueuedBatchPlant
from mpc.simulation.run import simulate
from mpc.simulation.summary import changes_in
from mpc.values import Configuration, ConfigurationSpace, FloatArray

SPACE = ConfigurationSpace(4, 24, (FREQUENCY_KHZ,))
OVERHEAD_S = 1.0
"""Of every batch: planning, scheduling and committing it. The thesis does not report it."""
STARTUP_S = 10.0
FULL_POWER_W = 100.0
"""The plant needs one; no figure of this comparison is in watts."""


@dataclass(frozen=True, slots=True)
class Spread:
    """The candlestick of the thesis's charts."""

    minimum: float
    p10: float
    mean: float
    p90: float
    maximum: float

    @classmethod
    def of(cls, values: FloatArray) -> "Spread":
        p10, p90 = np.percentile(values, [10, 90])
        return cls(
            float(values.min()), float(p10), float(values.mean()), float(p90), float(values.max())
        )

    @classmethod
    def average(cls, spreads: Sequence["Spread"]) -> "Spread":
        """Over repetitions, as the thesis does (section 5.1)."""
        names = cls.__slots__
        return cls(*(float(np.mean([getattr(one, name) for one in spreads])) for name in names))


@dataclass(frozen=True, slots=True)
class ThesisOutcome:
    latency_s: Spread
    """Of the finished batches: mean over their messages, from arrival to result."""
    executors: Spread
    over_target: float
    """Share of the finished batches whose mean latency is above the target."""
    changes: float
    unfinished: float
    """Batches without a result when the hour ended."""

    @classmethod
    def average(cls, outcomes: Sequence["ThesisOutcome"]) -> "ThesisOutcome":
        return cls(
            Spread.average([outcome.latency_s for outcome in outcomes]),
            Spread.average([outcome.executors for outcome in outcomes]),
            float(np.mean([outcome.over_target for outcome in outcomes])),
            float(np.mean([outcome.changes for outcome in outcomes])),
            float(np.mean([outcome.unfinished for outcome in outcomes])),
        )


def run(
    policy: Policy,
    workload: ThesisWorkload,
    target_s: float,
    generator: np.random.Generator,
    batches: int | None = None,
    executors: int = SPACE.min_executors,
) -> ThesisOutcome:
    """From the fewest executors, unless told; `batches` ends the run early."""
    plant = QueuedBatchPlant(
        workload.rates_per_s[:batches],
        MicroBatchTraits(OVERHEAD_S, workload.row_cycles, BATCH_S, startup_s=STARTUP_S),
        prior_power(SPACE.max_executors, FREQUENCY_KHZ, FULL_POWER_W),
        Configuration(executors, FREQUENCY_KHZ),
        generator,
        step_s=BATCH_S,
        row_costs=workload.row_costs[:batches],
    )
    steps = simulate(Controller.of(policy, SPACE, target_s, BATCH_S), plant).steps
    latencies_s = np.array([batch.latency_sum_s / batch.rows.rows for batch in plant.finished])
    used = np.array([record.configuration.executors for record in plant.records], dtype=np.float64)
    return ThesisOutcome(
        latency_s=Spread.of(latencies_s),
        executors=Spread.of(used),
        over_target=float(np.mean(latencies_s > target_s)),
        changes=float(changes_in([step.applied.requested for step in steps]).reconfigurations),
        unfinished=float(len(steps) - len(plant.finished)),
    )
