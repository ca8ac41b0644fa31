"""The latency cost: exponential up to a cap, linear beyond it, and invertible.

An exponential without a cap overflows under overload, and a flat cap makes every bad
configuration look equally bad; both let the optimiser pick the smallest configuration exactly when
it must not. The linear tail keeps two bad configurations in their order.
"""

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from forecasting.compiled import compiled
from mpc.values import FloatArray

QosMode = Literal["exponential", "normalised"]

LINEAR_FROM = 8.0
"""Beyond exp(8), about 3,000 times the cost at x = 0, the curve continues along its tangent."""
TANGENT = math.exp(LINEAR_FROM)
SPAN = math.e - 1.0
LARGEST = 1e100
"""Arguments are clipped here, so that sums over a horizon stay finite for any finite latency."""
SMALLEST = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True)
class QosCurve:
    """cost(latency) = weight * g((latency - offset_s) / scale_s).

    `exponential`: g(x) = exp(x), the form of the MPC paper (De Matteis and Mencagli 2016) with
    offset 0 and the threshold as scale. `normalised`: g(x) = (exp(x) - 1) / (e - 1), so that the
    cost is 0 at the offset and `weight` at offset + scale, whatever the target. Both have the
    linear tail.
    """

    weight: float
    offset_s: float
    scale_s: float
    mode: QosMode = "exponential"

    def __post_init__(self) -> None:
        if not (math.isfinite(self.weight) and self.weight >= 0):
            raise ValueError(f"the latency weight must be finite and >= 0, got {self.weight}")
        if not math.isfinite(self.offset_s):
            raise ValueError(f"offset_s must be finite, got {self.offset_s}")
        if not (math.isfinite(self.scale_s) and self.scale_s > 0):
            raise ValueError(f"scale_s must be finite and > 0, got {self.scale_s}")
        if self.mode not in ("exponential", "normalised"):
            raise ValueError(f'mode must be "exponential" or "normalised", got {self.mode!r}')

    @property
    def _numbers(self) -> tuple[float, float, float]:
        """Floats whatever was given: other types would be compiled anew, inside a control step."""
        return float(self.weight), float(self.offset_s), float(self.scale_s)

    def cost(self, latency_s: FloatArray) -> FloatArray:
        """Cost of every latency, of the same shape."""
        costs = np.array(latency_s, dtype=np.float64, order="C")
        normalised = self.mode == "normalised"
        _price(costs.ravel(), *self._numbers, normalised)
        return costs

    def latency_s(self, cost: FloatArray) -> FloatArray:
        """The latency of a given cost: turns a mean or CVaR of costs into one latency.

        Costs at or below the infimum of the curve map to its far left end, which is finite.
        """
        if self.weight == 0:
            raise ValueError("a curve of weight 0 has no inverse: every latency costs nothing")
        latencies_s = np.array(cost, dtype=np.float64, order="C")
        normalised = self.mode == "normalised"
        _invert(latencies_s.ravel(), *self._numbers, normalised)
        return latencies_s


@compiled
def latency_cost(
    latency_s: float, weight: float, offset_s: float, scale_s: float, normalised: bool
) -> float:
    """`QosCurve.cost` of one latency, for use inside compiled code."""
    argument = min((latency_s - offset_s) / scale_s, LARGEST)
    if argument <= LINEAR_FROM:
        bent = math.exp(argument)
    else:
        bent = TANGENT * (1.0 + argument - LINEAR_FROM)
    if normalised:
        bent = (bent - 1.0) / SPAN
    return weight * bent


@compiled
def _price(
    values: FloatArray, weight: float, offset_s: float, scale_s: float, normalised: bool
) -> None:
    """Latencies become costs, in place."""
    for cell in range(values.size):
        values[cell] = latency_cost(values[cell], weight, offset_s, scale_s, normalised)


@compiled
def _invert(
    values: FloatArray, weight: float, offset_s: float, scale_s: float, normalised: bool
) -> None:
    """Costs become latencies, in place."""
    for cell in range(values.size):
        bent = values[cell] / weight
        if normalised:
            bent = bent * SPAN + 1.0
        if bent <= TANGENT:
            argument = math.log(max(bent, SMALLEST))
        else:
            argument = LINEAR_FROM + (bent - TANGENT) / TANGENT
        values[cell] = offset_s + scale_s * argument
