"""Fits the power models to a few measured points and says which points to measure.

Errors are relative throughout: a watt too much matters more at 20 W than at 100 W, and the mean
absolute percentage error is what the models are judged by.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from energy.power import (
    KHZ_PER_GHZ,
    PAPER_VOLTAGES_V,
    CalibratedPower,
    PowerModel,
    ProportionalPower,
)

CALIBRATION_POINTS = 7

_REWEIGHTINGS = 20
_EXACT_ENOUGH = 0.02
"""Relative error below which a point is not trusted any further; near the meters' own error."""


@dataclass(frozen=True, slots=True)
class PowerPoint:
    """What a host drew, on average, with so many busy executors at one frequency."""

    executors: float
    """Not always a whole number: others may have taken a part of the CPU time."""
    frequency_khz: int
    power_w: float

    def __post_init__(self) -> None:
        if not 0 < self.power_w < np.inf:
            raise ValueError(f"power_w must be positive and finite, got {self.power_w}")
        if self.executors < 0 or self.frequency_khz <= 0:
            raise ValueError(
                f"executors must be at least 0 and frequency_khz positive, got "
                f"{self.executors} and {self.frequency_khz}"
            )


def points_to_measure(
    executors: Sequence[int], frequencies_khz: Sequence[int], count: int = CALIBRATION_POINTS
) -> tuple[tuple[int, int], ...]:
    """(executors, frequency_khz) spread over the grid: corners, then middle, then edges."""
    return spread([(n, khz) for n in executors for khz in frequencies_khz], count)


def spread(places: Sequence[tuple[int, int]], count: int) -> tuple[tuple[int, int], ...]:
    """Each place is the one farthest from those before it, starting at full load.

    With fewer places than `count`, all of them.
    """
    if not places or count < 1:
        raise ValueError("spread needs at least one place and a count of at least 1")
    grid = np.array(sorted(set(places)))
    position = (grid - grid[0]) / np.maximum(np.ptp(grid, axis=0), 1)
    chosen = [len(grid) - 1]
    distance = np.full(len(grid), np.inf)
    while len(chosen) < min(count, len(grid)):
        distance = np.minimum(distance, np.square(position - position[chosen[-1]]).sum(axis=1))
        # Rounded, so that equal distances tie and the larger configuration is taken everywhere.
        rounded = np.round(distance, 9)
        chosen.append(int(np.flatnonzero(rounded == rounded.max())[-1]))
    return tuple((int(grid[index, 0]), int(grid[index, 1])) for index in chosen)


def calibrated(points: Sequence[PowerPoint]) -> CalibratedPower:
    """Fit P = a + b f + c n f + d n f^3 by non-negative least squares on relative errors.

    Reweighting by 1/|error| turns the squares into absolute errors, so that one bad reading (a
    frequency not yet applied, a stale counter) does not bend the whole model. With points at a
    single frequency the model holds at that frequency only.
    """
    if len({point.executors for point in points}) < 2:
        raise ValueError(
            f"calibration needs points at two executor counts or more, got {len(points)} points at "
            f"{sorted({point.executors for point in points})}"
        )
    executors, ghz, power_w = _columns(points)
    columns = np.stack([np.ones_like(ghz), ghz, executors * ghz, executors * ghz**3], axis=1)
    relative = columns / power_w[:, None]
    # Columns of one size: n f^3 is thousands of times a constant on a large host.
    size = np.linalg.norm(relative, axis=0)
    size[size == 0] = 1.0
    weight = np.ones_like(power_w)
    for _ in range(_REWEIGHTINGS):
        shares, _residual = nnls(relative / size * weight[:, None], weight)
        error = np.abs(relative / size @ shares - 1.0)
        weight = 1.0 / np.sqrt(np.maximum(error, _EXACT_ENOUGH))
    return CalibratedPower(*(float(coefficient) for coefficient in shares / size))


def proportional(
    points: Sequence[PowerPoint],
    voltages_v: tuple[tuple[int, float], ...] = PAPER_VOLTAGES_V,
    service_threads: int = 3,
) -> ProportionalPower:
    """The paper's model with the one capacitance that fits the points best (relative squares)."""
    if not points:
        raise ValueError("the proportional model needs at least one point")
    unit = ProportionalPower(voltages_v=voltages_v, service_threads=service_threads)
    ratio = _predicted_w(unit, points) / np.array([point.power_w for point in points])
    capacitance = float(ratio.sum() / np.square(ratio).sum())
    return ProportionalPower(capacitance, voltages_v, service_threads)


def mape(model: PowerModel, points: Sequence[PowerPoint]) -> float:
    """Mean absolute percentage error as a fraction: 0.05 is 5 %."""
    power_w = np.array([point.power_w for point in points])
    return float(np.mean(np.abs(_predicted_w(model, points) - power_w) / power_w))


def _columns(points: Sequence[PowerPoint]) -> tuple[NDArray[np.float64], ...]:
    executors = np.array([point.executors for point in points], dtype=np.float64)
    ghz = np.array([point.frequency_khz for point in points], dtype=np.float64) / KHZ_PER_GHZ
    return executors, ghz, np.array([point.power_w for point in points])


def _predicted_w(model: PowerModel, points: Sequence[PowerPoint]) -> NDArray[np.float64]:
    executors, ghz, _ = _columns(points)
    return model.power_w(executors, ghz * KHZ_PER_GHZ)
