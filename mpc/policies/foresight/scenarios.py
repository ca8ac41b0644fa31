"""What may come: scenarios of the forecast, and what a batch engine makes of them.

A scenario is a path of rates; what a plan must serve is more than that. A rate that nobody foresaw
goes on in some of them, a batch works on rows that came a period ago, and executors that come back
run their first batch a period later. Of these, every scenario has the highest.
"""

from math import inf

import numpy as np

from forecasting.late import LateForecaster
from mpc.values import FloatArray

SURPRISE_EVERY = 2
"""A rate above all that was foreseen is a glitch or a new level, which the forecaster tells apart
only steps later. Until then every second scenario goes on at it: to scale out for a glitch costs a
little energy, to wait for the confirmation of a new level a backlog."""


class Scenarios:
    """Of one forecaster, which knows `most_steps` ahead. Paths are (S, h)."""

    def __init__(self, forecaster: LateForecaster, step_s: float, most_steps: int) -> None:
        self._forecaster = forecaster
        self._step_s = step_s
        self._most_steps = most_steps
        self._foreseen_per_s = inf
        """The highest rate that the scenarios had for the step that is measured next."""

    def with_surprise(self, paths: FloatArray, measured_per_s: float | None) -> FloatArray:
        """Some at the measured rate if it was neither foreseen nor is now.

        Not foreseen: while a rate falls as expected, every scenario is below what was measured.
        """
        foreseen_per_s, self._foreseen_per_s = self._foreseen_per_s, float(paths[:, 0].max())
        if measured_per_s is None or measured_per_s <= max(foreseen_per_s, self._foreseen_per_s):
            return paths
        surprised = paths.copy()
        surprised[::SURPRISE_EVERY] = np.maximum(surprised[::SURPRISE_EVERY], measured_per_s)
        return surprised

    def with_gathered(self, paths: FloatArray, period_s: float) -> FloatArray:
        """Nowhere below the rows which a batch has gathered by then.

        A batch works on the rows of one period before it, so a falling rate is felt that much
        later.
        """
        before = round(period_s / self._step_s) - 1
        if before < 1:
            return paths
        count, horizon = paths.shape
        rates = self._forecaster.scenarios(horizon, count, before)
        if rates is None:
            return paths
        sums = np.cumsum(np.pad(rates, ((0, 0), (1, 0))), axis=1)
        width = rates.shape[1] - horizon + 1  # fewer steps are known at the start
        gathered = (sums[:, width:] - sums[:, :-width]) / width
        return np.asarray(np.maximum(paths, gathered))

    def with_return(self, paths: FloatArray, period_s: float) -> FloatArray:
        """Nowhere below what comes until the first batch of executors that have come by then
        begins."""
        count, horizon = paths.shape
        ahead = min(round(period_s / self._step_s), self._most_steps - horizon)
        rates = self._forecaster.scenarios(horizon + ahead, count) if ahead > 0 else None
        if rates is None:
            return paths
        return np.asarray(np.maximum(paths, rates[:, ahead:]))
