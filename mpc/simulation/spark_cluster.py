"""A Spark cluster as the simulator has it, with the traits of a real one as measured on Spark 4.3.

What cannot be measured without a particular cluster is named with its reason. Only ratios between
policies are meant to carry over to another cluster.
"""

from dataclasses import dataclass

import numpy as np

from energy.power import PowerModel
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.series import TraceClock
from mpc.values import ConfigurationSpace, FloatArray

OVERHEAD_S = 0.3
"""A near-empty micro-batch takes 0.24 s with a shuffle and 0.36 to 0.47 s with state."""
STARTUP_S = 8.0
"""Registration takes 3 to 9 s, and the first batch 2 to 5 s more with a cold Python worker."""
TRIGGER_INTERVAL_S = 2.0
"""Longer than a batch at most loads, so that the ratio of spark-ratio means something."""
FULL_POWER_W = 200.0
"""Two sockets of ten cores with an executor each; only a scale."""
IDLE_SHARE = 0.3
"""With it the cluster draws 47 % of its full power when all executors are idle at the highest
frequency: about half, which is what servers drew (Barroso and Hoelzle 2007)."""
PEAK_LOAD = 0.9
"""Share of all executors at the highest frequency that the busiest time of a load takes."""


@dataclass(frozen=True, slots=True)
class SimulatedCluster:
    """Small and picklable: every process builds its own plant."""

    row_cycles: float
    overhead_s: float = OVERHEAD_S
    trigger_interval_s: float | None = TRIGGER_INTERVAL_S
    """None: batches back to back."""
    startup_s: float = STARTUP_S
    idle_share: float = IDLE_SHARE
    batch_cycles: float = 0.0
    """Work of every batch that executors share."""

    def plant(
        self,
        rates_per_s: FloatArray,
        power: PowerModel,
        space: ConfigurationSpace,
        generator: np.random.Generator,
        step_s: float,
        target_s: float | None = None,
        clock: TraceClock | None = None,
    ) -> MicroBatchPlant:
        """Begins with all executors at full speed; the same noise by the same generator."""
        traits = MicroBatchTraits(
            overhead_s=self.overhead_s,
            row_cycles=self.row_cycles,
            trigger_interval_s=self.trigger_interval_s,
            startup_s=self.startup_s,
            batch_cycles=self.batch_cycles,
        )
        return MicroBatchPlant(
            rates_per_s,
            traits,
            power,
            space.largest,
            generator,
            step_s=step_s,
            idle_share=self.idle_share,
            target_s=target_s,
            clock=clock,
        )


def row_cycles_for(peak_per_s: float, space: ConfigurationSpace, peak_load: float) -> float:
    """Cost of a row with which `peak_per_s` takes `peak_load` of the whole cluster."""
    return peak_load * space.max_executors * space.frequencies_khz[-1] * 1e3 / peak_per_s
