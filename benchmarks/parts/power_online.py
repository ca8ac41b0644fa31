"""How fast the power model of a host learns: a measured sweep played as a stream of readings.

The points come in random order, each once. After every reading the model in use is judged on the
whole sweep, on points it has seen and points it has not. A prior *in watts* knows the power at full
load, as `[power] full_power_w` says it; a prior *as a shape* knows nothing, and its level comes
from the same readings.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import numpy as np

from benchmarks.parts.power import read_sweep
from energy.calibration import PowerPoint, calibrated, mape
from energy.online_power import OnlinePower
from energy.power import CalibratedPower, prior_power

SHOWN = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200)
PriorLevel = Literal["watts", "shape"]


@dataclass(frozen=True, slots=True)
class OnlinePowerRow:
    """Errors over the whole sweep, as fractions; means over the orders unless they say worst."""

    prior: PriorLevel
    readings: int
    mape: float
    prior_mape: float
    worst_mape: float
    """Of the worst order."""
    worst_excess: float
    """By how much the model in use was worse than the prior, at the worst of all readings since
    the row before in the worst order; 0 if it never was."""
    learned_share: float
    """Of the orders in which the learned model had replaced the prior."""
    best_mape: float
    """Of the same terms fitted to the whole sweep at once: the limit of the model's form."""


@dataclass(frozen=True, slots=True)
class _Moment:
    mape: float
    prior_mape: float
    is_learned: bool


def online_power_rows(sweep: Path, orders: int, seed: int) -> list[OnlinePowerRow]:
    points = read_sweep(sweep)
    best = mape(calibrated(points), points)
    full = max(points, key=lambda point: (point.executors, point.frequency_khz))
    levels: tuple[tuple[PriorLevel, float], ...] = (("watts", full.power_w), ("shape", 1.0))
    rows = []
    for level, full_power_w in levels:
        prior = prior_power(int(full.executors), full.frequency_khz, full_power_w)
        generators = np.random.default_rng(seed).spawn(orders)
        runs = [
            _played([points[place] for place in each.permutation(len(points))], prior, level)
            for each in generators
        ]
        rows.extend(_rows(level, runs, best))
    return rows


def _played(
    points: Sequence[PowerPoint], prior: CalibratedPower, level: PriorLevel
) -> list[_Moment]:
    model = OnlinePower(prior, in_watts=level == "watts")
    moments = []
    for point in points:
        model.learn(point.executors, point.frequency_khz, point.power_w)
        # A prior in watts is what it was before anything was measured.
        known = prior if level == "watts" else model.prior
        moments.append(
            _Moment(mape(model.model, points), mape(known, points), model.record.kind == "learned")
        )
    return moments


def _rows(level: PriorLevel, runs: list[list[_Moment]], best: float) -> list[OnlinePowerRow]:
    rows, shown_before = [], 0
    length = len(runs[0])
    for readings in (*(count for count in SHOWN if count < length), length):
        now = [run[readings - 1] for run in runs]
        since = [moment for run in runs for moment in run[shown_before:readings]]
        shown_before = readings
        rows.append(
            OnlinePowerRow(
                prior=level,
                readings=readings,
                mape=float(np.mean([moment.mape for moment in now])),
                prior_mape=float(np.mean([moment.prior_mape for moment in now])),
                worst_mape=max(moment.mape for moment in now),
                worst_excess=max(0.0, *(moment.mape - moment.prior_mape for moment in since)),
                learned_share=float(np.mean([moment.is_learned for moment in now])),
                best_mape=best,
            )
        )
    return rows
