"""The Spark-like cluster that the peers are compared on, and the load it is given."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from energy.power import CalibratedPower, prior_power
from mpc.simulation.micro_batch import MicroBatchPlant
from mpc.simulation.spark_cluster import (
    FULL_POWER_W,
    IDLE_SHARE,
    PEAK_LOAD,
    STARTUP_S,
    TRIGGER_INTERVAL_S,
    SimulatedCluster,
)
from mpc.values import ConfigurationSpace, FloatArray
from runtime.rates import averaged_to, read_rates

SPACE = ConfigurationSpace(1, 20, tuple(range(1_200_000, 2_000_001, 100_000)))
"""Nine frequencies, those of the MPC paper's machine (De Matteis and Mencagli 2016, section 5)."""
ROW_CYCLES = 2e6
"""1 ms a row at 2 GHz: 20 executors serve 20,000 rows/s."""
TARGET_S = 5.0
"""Every peer's own set-point keeps it: a utilisation of 0.88, the upper end of hpa's tolerance,
gives batches of 2.5 s and a latency of 3.75 s. So peers are judged by how they follow the load."""
STEP_S = 5.0
MAX_STEPS = 4320
"""Six hours of steps: a longer file is averaged down to so many, that is played faster."""


@dataclass(frozen=True, slots=True)
class PeerSetting:
    """One trace on the cluster; small and picklable, so worker processes build their own plant."""

    rates_file: Path
    rate_column: str | None = None
    target_s: float = TARGET_S
    step_s: float = STEP_S
    max_steps: int = MAX_STEPS
    peak_load: float = PEAK_LOAD
    trigger_interval_s: float = TRIGGER_INTERVAL_S
    startup_s: float = STARTUP_S
    idle_share: float = IDLE_SHARE

    def plant(self, rates_per_s: FloatArray, seed: int) -> MicroBatchPlant:
        """Every policy finds all executors at full speed, and the same noise by seed."""
        cluster = SimulatedCluster(
            ROW_CYCLES,
            trigger_interval_s=self.trigger_interval_s,
            startup_s=self.startup_s,
            idle_share=self.idle_share,
        )
        generator = np.random.default_rng(seed)
        return cluster.plant(rates_per_s, cluster_power(), SPACE, generator, self.step_s)


@dataclass(frozen=True, slots=True)
class PeerLoad:
    """Rows per second, one value a control step, and where they come from, in words."""

    rates_per_s: FloatArray
    source: str


def load(setting: PeerSetting) -> PeerLoad:
    """The file, averaged down and scaled so that its busiest step takes `peak_load` of the CPU."""
    values = read_rates(setting.rates_file, setting.rate_column)
    rates = averaged_to(values, setting.max_steps)
    peak = float(rates.max())
    if peak <= 0:
        raise ValueError(f"{setting.rates_file}: every rate is zero")
    capacity_per_s = SPACE.max_executors * SPACE.frequencies_khz[-1] * 1e3 / ROW_CYCLES
    stretch = len(values) // len(rates)
    each = f"{stretch} values" if stretch > 1 else "one value"
    column = f" ({setting.rate_column})" if setting.rate_column else ""
    return PeerLoad(
        rates * (setting.peak_load * capacity_per_s / peak),
        f"{setting.rates_file.name}{column}, {each} a step, peak at {setting.peak_load:.0%} load",
    )


def cluster_power() -> CalibratedPower:
    return prior_power(SPACE.max_executors, SPACE.frequencies_khz[-1], FULL_POWER_W)
