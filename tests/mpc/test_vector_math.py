import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import ndtr

from mpc.vector_math import exponential, logarithm, logarithm_1p, normal_below


@given(st.floats(-700.0, 700.0))
def test_exponential(value: float) -> None:
    assert exponential(value) == pytest.approx(math.exp(value), rel=1e-13, abs=0.0)


@given(st.floats(1e-300, 1e300) | st.floats(0.5, 2.0))
def test_logarithm(value: float) -> None:
    assert logarithm(value) == pytest.approx(math.log(value), rel=1e-14, abs=1e-15)


@given(st.floats(0.0, 1e300) | st.floats(0.0, 1e-6))
def test_logarithm_of_one_and_a_little(value: float) -> None:
    assert logarithm_1p(value) == pytest.approx(math.log1p(value), rel=1e-14, abs=1e-300)


@given(st.floats(-9.0, 40.0))
def test_a_tail_is_right_in_proportion_however_small(value: float) -> None:
    bell = math.exp(-0.5 * value * value)
    assert normal_below(value, bell) == pytest.approx(ndtr(value), rel=1e-12, abs=0.0)
