"""The workload of Azimi Gehraz 2018, section 5.1: every device's consumption is predicted anew per
batch.

A prediction is the average plus the median over a sliding window, halved (Eq. 5.1), so a batch
costs its messages and, for every device that occurs in it, the sort of a window. The same messages
cost more when they come from more devices.

The thesis cuts two hours out of the DEBS 2014 smart plug data, shows them in a chart only, and
tunes the window to load the cluster. Neither data nor chart is at hand: the two workloads are drawn
with as many plugs, loads that rise, peak and return, and the thesis's windows, and are scaled so
that the busiest five minutes keep `PEAK_EXECUTORS` busy. That is what its section 5.10 reports: 8
executors are too few, 12 are enough.
"""

from dataclasses import dataclass
from functools import cache

import numpy as np

from mpc.values import FloatArray

BATCH_S = 10.0
HOUR_BATCHES = 360
DEVICES = 2_125
"""Smart plugs of the DEBS 2014 data."""
PEAK_MESSAGES = 6_000
"""Messages in a batch at level 1."""
PEAK_EXECUTORS = 10.0
FREQUENCY_KHZ = 2_000_000
MESSAGE_COMPARISONS = 200.0
"""What one message costs apart from predictions, in comparisons of a sort."""
NOISE = 0.08
NOISE_MEMORY = 0.8


@dataclass(frozen=True, slots=True)
class Shape:
    """Levels at the given minutes, straight lines in between."""

    window: int
    """Elements of a device's sliding window (Table 5.1)."""
    seed: int
    minutes: tuple[float, ...]
    messages: tuple[float, ...]
    """Share of `PEAK_MESSAGES`."""
    devices: tuple[float, ...]
    """Share of the plugs that report at all."""


SHAPES = {
    "W1": Shape(
        window=1650,
        seed=2014_1,
        minutes=(0, 6, 15, 22, 30, 42, 50, 60),
        messages=(0.45, 0.55, 0.95, 0.75, 0.50, 1.00, 0.60, 0.45),
        devices=(0.50, 0.60, 0.95, 0.80, 0.55, 0.90, 0.65, 0.50),
    ),
    "W2": Shape(
        window=1900,
        seed=2014_2,
        minutes=(0, 10, 14, 28, 33, 40, 46, 60),
        messages=(0.60, 0.50, 0.90, 0.95, 0.55, 0.70, 0.50, 0.55),
        devices=(0.50, 0.50, 0.80, 1.00, 0.60, 0.85, 0.50, 0.45),
    ),
    "training": Shape(
        window=1650,
        seed=2014_3,
        minutes=(0, 5, 12, 20, 60),
        messages=(0.50, 0.80, 0.95, 0.60, 0.60),
        devices=(0.60, 0.75, 0.95, 0.60, 0.60),
    ),
}
WORKLOADS = ("W1", "W2")


@dataclass(frozen=True, slots=True)
class ThesisWorkload:
    name: str
    messages: FloatArray
    """In each batch."""
    devices: FloatArray
    """That occur in each batch."""
    cycles: FloatArray
    """Cost of each batch."""

    @property
    def rates_per_s(self) -> FloatArray:
        return self.messages / BATCH_S

    @property
    def row_cycles(self) -> float:
        return float(self.cycles.sum() / self.messages.sum())

    @property
    def row_costs(self) -> FloatArray:
        """Cost of a message of each batch, in units of `row_cycles`."""
        return self.cycles / self.messages / self.row_cycles

    @property
    def executors(self) -> FloatArray:
        """That each batch keeps busy for its interval."""
        return self.cycles / (BATCH_S * FREQUENCY_KHZ * 1e3)


@cache
def make_workload(name: str) -> ThesisWorkload:
    """Always the same messages for the same name."""
    shape = SHAPES[name]
    random = np.random.default_rng(shape.seed)
    minutes = (np.arange(HOUR_BATCHES) + 0.5) * BATCH_S / 60.0
    level = np.interp(minutes, shape.minutes, shape.messages) * _noise(random)
    messages = np.maximum(random.poisson(PEAK_MESSAGES * level), 1)
    share = np.interp(minutes, shape.minutes, shape.devices) * _noise(random)
    reporting = np.clip(np.rint(DEVICES * share), 1, DEVICES).astype(np.int64)
    devices = np.array(
        [
            len(np.unique(random.integers(plugs, size=count)))
            for plugs, count in zip(reporting, messages, strict=True)
        ],
        dtype=np.float64,
    )
    comparisons = messages * MESSAGE_COMPARISONS + devices * shape.window * np.log2(shape.window)
    five_minutes = round(300 / BATCH_S)
    busiest = np.convolve(comparisons, np.full(five_minutes, 1 / five_minutes), "valid").max()
    peak_cycles = PEAK_EXECUTORS * BATCH_S * FREQUENCY_KHZ * 1e3
    cycles = comparisons * (peak_cycles / busiest)
    return ThesisWorkload(name, messages.astype(np.float64), devices, cycles)


def _noise(random: np.random.Generator) -> FloatArray:
    """Lognormal and correlated from batch to batch."""
    deviation, deviations = 0.0, []
    for shock in random.normal(0.0, NOISE * np.sqrt(1 - NOISE_MEMORY**2), HOUR_BATCHES):
        deviation = NOISE_MEMORY * deviation + shock
        deviations.append(deviation)
    return np.asarray(np.exp(deviations))
