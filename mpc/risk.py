"""From scenarios to one number per configuration: mean or conditional value at risk.

A plan that is good for the mean of a forecast runs the plant at utilisation one half of the time.
CVaR looks at the mean of the worst scenarios instead.
"""

from typing import Literal

import numpy as np

from mpc.values import FloatArray

RiskMeasure = Literal["mean", "cvar"]


def at_risk(costs: FloatArray, measure: RiskMeasure, tail: float) -> FloatArray:
    """Reduce axis 0 of `costs`, the scenarios; `tail` is the share of worst ones CVaR averages."""
    if measure == "mean":
        return np.asarray(costs.mean(axis=0))
    worst = max(1, round(tail * len(costs)))
    if worst == len(costs):
        return np.asarray(costs.mean(axis=0))
    return np.asarray(np.partition(costs, len(costs) - worst, axis=0)[-worst:].mean(axis=0))
