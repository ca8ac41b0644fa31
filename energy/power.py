"""Power models: what n executors at frequency f draw, for whole grids of configurations at once.

`ProportionalPower` is the paper's (De Matteis and Mencagli 2016, Expr. 9), good for comparing
configurations of one machine. `CalibratedPower` is in watts and follows measured sweeps. Both
predict; neither measures.
"""

from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from energy.prior import BASE_SHARE, BUSY_CUBIC_SHARE, BUSY_SHARE, FREQUENCY_SHARE

KHZ_PER_GHZ = 1e6

PAPER_VOLTAGES_V: tuple[tuple[int, float], ...] = (
    (1_200_000, 0.8696),
    (1_300_000, 0.8766),
    (1_400_000, 0.8836),
    (1_500_000, 0.8886),
    (1_600_000, 0.8906),
    (1_700_000, 0.8976),
    (1_800_000, 0.9046),
    (1_900_000, 0.9106),
    (2_000_000, 0.9197),
)
"""(kHz, V) of a Xeon E5-2695 v2 with 6 busy cores, as measured by DanieleDeSensi/nornir (MIT).

It covers the paper's frequencies; the table of the paper's own machine is not published."""


class PowerModel(Protocol):
    """Broadcasts its two arguments against each other, as numpy does."""

    def power_w(self, executors: ArrayLike, frequency_khz: ArrayLike) -> NDArray[np.float64]: ...


@dataclass(frozen=True, slots=True)
class ProportionalPower:
    """Expr. 9: Ceff * V(f)^2 * f * (n + service threads).

    The authors' code adds three threads that always run beside the replicas (splitter, merger,
    controller). With the default capacitance of 1 the result is in the paper's proportional unit,
    V^2 * GHz. Voltages are interpolated within the table and held constant beyond its ends.
    """

    effective_capacitance: float = 1.0
    """Watts per V^2 * GHz and core."""
    voltages_v: tuple[tuple[int, float], ...] = PAPER_VOLTAGES_V
    """(kHz, V), ascending in kHz."""
    service_threads: int = 3

    def __post_init__(self) -> None:
        if not self.effective_capacitance > 0:
            raise ValueError(
                f"effective_capacitance must be positive, got {self.effective_capacitance}"
            )
        frequencies_khz = [frequency_khz for frequency_khz, _ in self.voltages_v]
        if not frequencies_khz or sorted(set(frequencies_khz)) != frequencies_khz:
            raise ValueError(f"voltages_v must ascend in kHz, got {frequencies_khz}")

    def power_w(self, executors: ArrayLike, frequency_khz: ArrayLike) -> NDArray[np.float64]:
        khz = np.asarray(frequency_khz, dtype=np.float64)
        table = np.asarray(self.voltages_v)
        volts = np.interp(khz, table[:, 0], table[:, 1])
        threads = np.asarray(executors, dtype=np.float64) + self.service_threads
        per_thread_w = self.effective_capacitance * volts**2 * (khz / KHZ_PER_GHZ)
        return np.asarray(per_thread_w * threads)


@dataclass(frozen=True, slots=True)
class CalibratedPower:
    """P = a + b f + c n f + d n f^3, f in GHz, every coefficient at least 0.

    a and b are what the host draws whatever runs on it; c and d what one busy executor adds.
    Not negative means never falling with executors or frequency, also outside the measured range.
    """

    base_w: float
    per_ghz_w: float
    per_executor_ghz_w: float
    per_executor_ghz3_w: float

    def __post_init__(self) -> None:
        if not all(0 <= coefficient < np.inf for coefficient in self.coefficients):
            raise ValueError(f"coefficients must be finite and at least 0, got {self.coefficients}")

    @property
    def coefficients(self) -> tuple[float, float, float, float]:
        return self.base_w, self.per_ghz_w, self.per_executor_ghz_w, self.per_executor_ghz3_w

    def power_w(self, executors: ArrayLike, frequency_khz: ArrayLike) -> NDArray[np.float64]:
        ghz = np.asarray(frequency_khz, dtype=np.float64) / KHZ_PER_GHZ
        busy = np.asarray(executors, dtype=np.float64)
        host_w = self.base_w + self.per_ghz_w * ghz
        executor_w = self.per_executor_ghz_w * ghz + self.per_executor_ghz3_w * ghz**3
        return np.asarray(host_w + busy * executor_w)


def prior_power(max_executors: int, max_frequency_khz: int, max_power_w: float) -> CalibratedPower:
    """For a host nobody has measured, see `energy.prior`."""
    max_ghz = max_frequency_khz / KHZ_PER_GHZ
    return CalibratedPower(
        base_w=BASE_SHARE * max_power_w,
        per_ghz_w=FREQUENCY_SHARE * max_power_w / max_ghz,
        per_executor_ghz_w=BUSY_SHARE * max_power_w / (max_executors * max_ghz),
        per_executor_ghz3_w=BUSY_CUBIC_SHARE * max_power_w / (max_executors * max_ghz**3),
    )
