"""Where rates are reported by the batch, scenarios are as wide as they promise.

Five thousand steps are four hundred batches of twelve, whose share within a quantile varies by
almost a point from series to series: coverage is the mean over several.
"""

from collections.abc import Callable

import numpy as np
import pytest

from benchmarks.parts.reported_forecast import coverage_rows
from forecasting.contract import FloatArray

STEPS = 5000
SERIES = {1: 1, 4: 1, 12: 4}
"""How many series are averaged, by the steps of a batch."""


def _walk(random: np.random.Generator) -> FloatArray:
    drift = 0.3 * np.sin(np.arange(STEPS) / 700)
    return np.asarray(5000.0 * np.exp(drift + np.cumsum(random.normal(0.0, 0.02, STEPS))))


def _wave(random: np.random.Generator) -> FloatArray:
    noise = np.zeros(STEPS)
    for step in range(1, STEPS):
        noise[step] = 0.9 * noise[step - 1] + random.normal(0.0, 120.0)
    return np.asarray(5000.0 + 2500.0 * np.sin(2 * np.pi * np.arange(STEPS) / 240) + noise)


def _levels(random: np.random.Generator) -> FloatArray:
    levels = np.repeat(random.uniform(1000.0, 9000.0, STEPS // 40), 40)
    return np.asarray(levels * (1.0 + 0.05 * random.normal(size=STEPS)))


@pytest.mark.parametrize("every", [1, 4, 12])
@pytest.mark.parametrize("rates", [_walk, _wave, _levels])
def test_as_many_rates_as_promised_stay_below_the_scenarios(
    rates: Callable[[np.random.Generator], FloatArray], every: int
) -> None:
    rows = [
        row
        for seed in range(SERIES[every])
        for row in coverage_rows(rates(np.random.default_rng(seed)), ["mixture"], every)
    ]
    for ahead in (1, 8):
        found = [row for row in rows if row.steps_ahead == ahead]
        assert 0.93 <= np.mean([row.coverage_95 for row in found]) <= 0.97
        # About one in a hundred; of `_levels` every eightieth is a jump up that nobody foresees.
        assert np.mean([row.above_all for row in found]) <= 0.025
