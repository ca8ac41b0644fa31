"""What a latency costs, for compiled code: whether it breaks the target, and how long it is.

    cost(R) = violation * sigmoid(sharpness * (R - target) / scale)  +  the curve of `horizon.qos`

A decision prices every scenario, stage and configuration with it, a million times in a large space.
So it is one loop over a row of sums, which the compiler can turn into vector instructions.
"""

from typing import NamedTuple

from forecasting.compiled import compiled_unchecked
from mpc.horizon.qos import LARGEST, LINEAR_FROM, SPAN, TANGENT, QosCurve
from mpc.values import FloatArray
from mpc.vector_math import FARTHEST, exponential


class LatencyCurve(NamedTuple):
    target_s: float
    violation_weight: float
    sharpness: float
    """Of the sigmoid, over the scale."""
    offset_s: float
    scale_s: float
    length_weight: float
    """Of g = exp(x) with its linear tail, x = (R - offset) / scale."""
    length_constant: float
    """Added to it: what makes the normalised form 0 at the offset."""


def curve_of(
    qos: QosCurve, length_share: float, target_s: float, violation_weight: float, sharpness: float
) -> LatencyCurve:
    """`length_share` of the cost of `qos`, and the violations of a target."""
    weight, constant = qos.weight * length_share, 0.0
    if qos.mode == "normalised":
        weight, constant = weight / SPAN, -weight / SPAN
    return LatencyCurve(
        target_s=float(target_s),
        violation_weight=float(violation_weight),
        sharpness=float(sharpness),
        offset_s=float(qos.offset_s),
        scale_s=float(qos.scale_s),
        length_weight=float(weight),
        length_constant=float(constant),
    )


@compiled_unchecked
def add_costs(
    latencies_s: FloatArray, count: int, ratio: float, curve: LatencyCurve, sums: FloatArray
) -> None:
    """Add the cost of the first `count` latencies, times the ratio, to `sums`, each to its own."""
    per_s = 1.0 / curve.scale_s
    steepness = curve.sharpness * per_s
    for cell in range(count):
        latency_s = ratio * latencies_s[cell]
        x = (latency_s - curve.offset_s) * per_s
        bent = exponential(max(min(x, LINEAR_FROM), -FARTHEST))
        bent += TANGENT * max(min(x, LARGEST) - LINEAR_FROM, 0.0)
        steps = (latency_s - curve.target_s) * steepness
        odds = exponential(max(min(steps, FARTHEST), -FARTHEST))
        violation = 1.0 - 1.0 / (1.0 + odds)
        sums[cell] += curve.violation_weight * violation + (
            curve.length_weight * bent + curve.length_constant
        )
