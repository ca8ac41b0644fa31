"""The windowed distance transform against its definition."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from mpc.horizon.envelope import Window, scratch_for, window_transform

finite = st.floats(0.0, 1e12) | st.integers(0, 5).map(float)


@given(
    values=st.lists(finite | st.just(np.inf), min_size=1, max_size=70),
    weight=st.sampled_from([0.0, 1e-300, 0.01, 1.0, 100.0]),
    back=st.integers(0, 80),
    ahead=st.integers(0, 80),
    data=st.data(),
)
def test_every_window_has_the_minimum_of_its_definition(
    values: list[float], weight: float, back: int, ahead: int, data: st.DataObject
) -> None:
    size = len(values)
    first = data.draw(st.integers(0, size - 1))
    last = data.draw(st.integers(first, size - 1))
    out = np.full(size, -1.0)
    window = Window(back, ahead, first, last)
    window_transform(np.array(values), weight, window, out, scratch_for(size))
    for x in range(size):
        if first <= x <= last:
            reach = range(max(0, x - back), min(size - 1, x + ahead) + 1)
            expected = min(values[q] + weight * (x - q) ** 2 for q in reach)
            assert out[x] == expected or abs(out[x] - expected) <= 1e-14 * expected
        else:
            assert out[x] == -1.0
