"""One hour of one policy on the thesis's workload, and what became of latency and executors."""

import numpy as np

from benchmarks.thesis.workload import BATCH_S, FREQUENCY_KHZ, ThesisWorkload
from energy.power import prior_power
from mpc.controller import Controller
from mpc.descent_limits import UNLIMITED
from mpc.ports import Policy
from mpc.simulation.micro_batch import MicroBatchTraits
from mpc.simulation.queued_batches import QueuedBatchPlant
from mpc.simulation.run import simulate
from mpc.simulation.summary import changes_in
from mpc.values import Configuration, ConfigurationSpace

SPACE = ConfigurationSpace(4, 24, (FREQUENCY_KHZ,))
OVERHEAD_S = 1.0
"""Of every batch: planning, scheduling and committing it. The thesis does not report it."""
STARTUP_S = 10.0
FULL_POWER_W = 100.0
"""The plant needs one; no figure of this comparison is in watts."""

ThesisFigures = dict[str, float]
"""By the names of `ThesisRow`."""


def run(
    policy: Policy,
    workload: ThesisWorkload,
    target_s: float,
    generator: np.random.Generator,
    batches: int | None = None,
    executors: int = SPACE.min_executors,
) -> ThesisFigures:
    """Starts with the fewest executors unless others are given; `batches` ends the run early."""
    plant = QueuedBatchPlant(
        workload.rates_per_s[:batches],
        MicroBatchTraits(OVERHEAD_S, workload.row_cycles, BATCH_S, startup_s=STARTUP_S),
        prior_power(SPACE.max_executors, FREQUENCY_KHZ, FULL_POWER_W),
        Configuration(executors, FREQUENCY_KHZ),
        generator,
        step_s=BATCH_S,
        row_costs=workload.row_costs[:batches],
    )
    steps = simulate(Controller.of(policy, SPACE, target_s, BATCH_S, UNLIMITED), plant).steps
    latencies_s = np.array([batch.latency_sum_s / batch.rows.rows for batch in plant.finished])
    used = np.array([record.configuration.executors for record in plant.records], dtype=np.float64)
    latency_p10_s, latency_p90_s = np.percentile(latencies_s, [10, 90])
    executors_p10, executors_p90 = np.percentile(used, [10, 90])
    return {
        "latency_mean_s": float(latencies_s.mean()),
        "latency_p10_s": float(latency_p10_s),
        "latency_p90_s": float(latency_p90_s),
        "latency_max_s": float(latencies_s.max()),
        "over_target": float(np.mean(latencies_s > target_s)),
        "unfinished": float(len(steps) - len(plant.finished)),
        "executors_mean": float(used.mean()),
        "executors_p10": float(executors_p10),
        "executors_p90": float(executors_p90),
        "changes": float(changes_in([step.applied.requested for step in steps]).reconfigurations),
    }
