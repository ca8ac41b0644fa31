"""The latency cost: its shape, its tail and its inverse."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.horizon.qos import QosCurve, QosMode, latency_cost
from tests.mpc.horizon.reference import qos

curves = st.builds(
    QosCurve,
    weight=st.floats(1e-3, 1e3),
    offset_s=st.floats(0.0, 2.0),
    scale_s=st.floats(1e-3, 30.0),
    mode=st.sampled_from(["exponential", "normalised"]),
)


@given(curves, st.floats(0.0, 1e4))
def test_compiled_vectorised_and_defining_forms_agree(curve: QosCurve, latency_s: float) -> None:
    expected = qos(curve, latency_s)
    vectorised = float(curve.cost(np.array([latency_s]))[0])
    compiled = latency_cost(
        latency_s, curve.weight, curve.offset_s, curve.scale_s, curve.mode == "normalised"
    )
    assert vectorised == pytest.approx(expected, rel=1e-12, abs=1e-12 * curve.weight)
    assert compiled == pytest.approx(expected, rel=1e-12, abs=1e-12 * curve.weight)


@given(curves, st.floats(-3.0, 1e6))
def test_latency_is_the_inverse_of_cost(curve: QosCurve, argument: float) -> None:
    latency_s = curve.offset_s + curve.scale_s * argument
    back_s = float(curve.latency_s(curve.cost(np.array([latency_s])))[0])
    assert back_s == pytest.approx(latency_s, rel=1e-9, abs=1e-9 * curve.scale_s)


@given(curves, st.floats(0.0, 1e9), st.floats(0.0, 1e9))
def test_a_longer_latency_never_costs_less(curve: QosCurve, one_s: float, other_s: float) -> None:
    low, high = curve.cost(np.array(sorted((one_s, other_s))))
    assert low <= high


@pytest.mark.parametrize("mode", ["exponential", "normalised"])
def test_the_tail_joins_smoothly(mode: QosMode) -> None:
    curve = QosCurve(1.0, 0.0, 1.0, mode)
    step = 1e-6
    left, joint, right = curve.cost(np.array([8.0 - step, 8.0, 8.0 + step]))
    assert (joint - left) / step == pytest.approx((right - joint) / step, rel=1e-5)


def test_two_hopeless_latencies_keep_their_order_and_stay_finite() -> None:
    cost = QosCurve(1.0, 0.0, 1e-3).cost(np.array([1e6, 2e6, 1e308]))
    assert np.isfinite(cost).all()
    assert cost[0] < cost[1] < cost[2]
    assert math.isfinite(cost.sum() * 1e6)


def test_the_normalised_curve_is_zero_at_the_offset_and_its_weight_at_the_target() -> None:
    curve = QosCurve(3.0, 0.2, 0.5, "normalised")
    assert curve.cost(np.array([0.2, 0.7])) == pytest.approx([0.0, 3.0])


def test_costs_below_the_curve_have_a_finite_latency() -> None:
    assert np.isfinite(QosCurve(1.0, 0.0, 1.0).latency_s(np.array([0.0, -1.0]))).all()


@pytest.mark.parametrize(
    ("weight", "offset_s", "scale_s", "message"),
    [
        (-1.0, 0.0, 1.0, "weight"),
        (1.0, math.nan, 1.0, "offset_s"),
        (1.0, 0.0, 0.0, "scale_s"),
        (1.0, 0.0, math.inf, "scale_s"),
    ],
)
def test_senseless_parameters_are_refused(
    weight: float, offset_s: float, scale_s: float, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        QosCurve(weight, offset_s, scale_s)


def test_a_curve_without_weight_has_no_inverse() -> None:
    with pytest.raises(ValueError, match="no inverse"):
        QosCurve(0.0, 0.0, 1.0).latency_s(np.array([1.0]))
