"""The simulated cluster that candidates run on: a Spark cluster of the configured size.

Without a journal its traits are those measured on a real Spark, and the cost of a row is what makes
the busiest minute of the trace take a given share of the cluster. A journal knows better.
"""

from collections.abc import Sequence
from dataclasses import replace

import msgspec

from mpc.batch_cost import BatchCostEstimate, refined
from mpc.simulation.spark_cluster import FULL_POWER_W, PEAK_LOAD, SimulatedCluster, row_cycles_for
from mpc.values import ConfigurationSpace
from runtime.build import simulated_space
from runtime.config import Config
from runtime.control.journal import StepRecord
from runtime.tuning.trace import Trace

FEWEST_BATCHES = 20
"""Journaled batches from which the cost of a row is believed."""
SHORTEST_OVERHEAD_S = 0.01


def space_of(config: Config) -> ConfigurationSpace:
    return simulated_space(config)


def with_watts(config: Config) -> Config:
    """Watts nobody named are on the scale of the comparison with peers."""
    if config.power.in_watts:
        return config
    change = msgspec.structs.replace
    return change(config, power=change(config.power, full_power_w=FULL_POWER_W))


def sized_for(trace: Trace, config: Config, peak_load: float = PEAK_LOAD) -> SimulatedCluster:
    """The busiest minute takes `peak_load` of all executors at the highest frequency."""
    return SimulatedCluster(row_cycles_for(trace.busiest_per_s, space_of(config), peak_load))


def fitted_to(records: Sequence[StepRecord], fallback: SimulatedCluster) -> SimulatedCluster:
    """What a journal tells of the cluster it was written on; the rest is the fallback's."""
    estimate: BatchCostEstimate | None = None
    batches = 0
    trigger_interval_s = None
    for record in records:
        measured = record.measurement
        if measured.trigger_interval_s is not None:
            trigger_interval_s = measured.trigger_interval_s
        for sample in measured.batches:
            if not sample.cold:
                estimate = refined(estimate, sample)
                batches += 1
    fitted = replace(
        fallback,
        trigger_interval_s=trigger_interval_s,
        startup_s=records[-1].dead_time_s or fallback.startup_s,
    )
    if estimate is None or batches < FEWEST_BATCHES or estimate.cost.row_cycles <= 0:
        return fitted
    return replace(
        fitted,
        overhead_s=max(estimate.cost.overhead_s, SHORTEST_OVERHEAD_S),
        row_cycles=estimate.cost.row_cycles,
        batch_cycles=estimate.cost.batch_cycles,
    )
