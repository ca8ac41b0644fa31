from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.report import scales
from runtime.report.frame import Frame
from runtime.report.markup import Markup, element
from runtime.report.panel import Line, Panel, apart, panel_svg, thinned
from runtime.report.placement import Anchor, Box, place_labels
from runtime.report.text import MISSING, count, fixed, signed, significant

NAN = float("nan")


class TestLines:
    @given(
        st.lists(st.none() | st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=400),
        st.integers(1, 50),
    )
    def test_thinning_keeps_the_extremes(self, values: list[float | None], columns: int) -> None:
        kept = thinned(values, columns)
        assert len(kept) <= max(2 * columns, 1)
        assert [index for index, _ in kept] == sorted({index for index, _ in kept})
        assert all(values[index] == value or value is None for index, value in kept)
        known = [value for value in values if value is not None]
        shown = [value for _, value in kept if value is not None]
        assert (min(known), max(known)) == (min(shown), max(shown)) if known else not shown

    @given(st.lists(st.floats(0, 200), max_size=8).map(sorted))
    def test_labels_are_moved_apart(self, wanted: list[float]) -> None:
        places = apart(wanted, 15.0, 0.0, 200.0)
        gaps = [high - low for low, high in pairwise(places)]
        assert all(gap >= 15.0 - 1e-9 for gap in gaps)
        assert all(-1e-9 <= place <= 200.0 for place in places)

    def test_an_area_has_gaps_where_nothing_is_known(self) -> None:
        values = (1.0, 2.0, None, 4.0, None)
        panel = Panel("a", "A", "s", "measured", (Line("a", "quiet", values),), values)
        svg = panel_svg(panel, 1.0, Frame(100, 100, left=0, right=0, top=0, bottom=0))
        (area,) = (path for path in svg.split("<path ") if 'class="area"' in path)
        first, second = area.split('d="')[1].split('"')[0].split("Z")[:2]
        assert [point.split()[0] for point in first[1:].split("L")] == [
            "10.0",
            "30.0",
            "30.0",
            "10.0",
        ]
        assert [point.split()[0] for point in second[1:].split("L")] == ["70.0"] * 3


class TestAxesAndNames:
    @given(
        st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=20),
        st.integers(1, 12),
    )
    def test_a_linear_axis_holds_its_values_with_few_round_ticks(
        self, values: list[float], ticks: int
    ) -> None:
        axis = scales.linear(values, 0.0, 100.0, ticks)
        invisible = 1e-6 * (axis.high - axis.low)
        assert axis.low <= min(values) + invisible
        assert axis.high >= max(values) - invisible
        assert 2 <= len(axis.ticks) <= ticks + 2
        assert all(0.0 <= axis(value) <= 100.0 for value in values)

    @given(st.lists(st.floats(1e-6, 1e6), min_size=1, max_size=20))
    def test_a_logarithmic_axis_holds_its_values(self, values: list[float]) -> None:
        axis = scales.logarithmic(values, 0.0, 100.0)
        assert axis.low <= min(values) * (1 + 1e-6)
        assert axis.high >= max(values) * (1 - 1e-6)
        pixels = [axis(value) for value in sorted(values)]
        assert pixels == sorted(pixels)

    @given(st.floats(0, 1e5))
    def test_an_axis_of_counts_begins_at_zero_with_whole_ticks(self, largest: float) -> None:
        axis = scales.counts(largest, 0.0, 100.0, 6)
        assert axis.ticks[0] == axis.low == 0.0
        assert axis.high >= largest
        assert all(tick == int(tick) and tick <= axis.high for tick in axis.ticks)

    @given(st.lists(st.tuples(st.floats(60, 940), st.floats(20, 480)), min_size=1, max_size=14))
    def test_names_stay_inside_the_chart(self, points: list[tuple[float, float]]) -> None:
        area = Box(0, 0, 1000, 500)
        anchors = [Anchor(x, y, 50.0, 14.0) for x, y in points]
        places = place_labels(anchors, [], area)
        assert all(place.box.within(area) for place in places)

    def test_names_of_close_points_do_not_cover_each_other(self) -> None:
        anchors = [Anchor(300 + 3 * index, 200 + 2 * index, 70.0, 14.0) for index in range(8)]
        boxes = [place.box for place in place_labels(anchors, [], Box(0, 0, 600, 400))]
        for index, box in enumerate(boxes):
            assert all(box.overlap(other) == 0 for other in boxes[index + 1 :])

    def test_markup_escapes_all_but_markup(self) -> None:
        inner = element("b", "1 < 2", title='"')
        assert inner == '<b title="&quot;">1 &lt; 2</b>'
        assert element("p", inner, Markup("<i></i>"), "&") == f"<p>{inner}<i></i>&amp;</p>"
        with pytest.raises(ValueError, match="finite"):
            element("path", x=NAN)


def test_numbers_as_text() -> None:
    assert fixed(12_345.678, 1) == "12,345.7"
    assert fixed(-0.001, 1) == "0.0"
    assert fixed(None, 1) == fixed(NAN, 1) == count(NAN) == significant(None) == MISSING
    assert count(3.0) == "3"
    assert count(3.25) == "3.2"
    assert significant(0.012345) == "0.0123"
    assert significant(1234.5) == "1,234"
    assert signed(0.04, 1) == "0.0"
    assert signed(1.25, 2) == "+1.25"
    assert signed(-2.0, 0) == "\N{MINUS SIGN}2"
