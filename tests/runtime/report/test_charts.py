"""Lines as data, markup, and numbers as text."""

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.report.charts import Chart, ChartLine, Drawing, polyline, thinned
from runtime.report.document import document
from runtime.report.markup import Markup, element
from runtime.report.text import FORMATS, MISSING, count, fixed, number, seconds, signed, significant

NAN = float("nan")


@given(
    st.lists(st.none() | st.floats(-1e6, 1e6, allow_nan=False), min_size=1, max_size=400),
    st.integers(1, 50),
)
def test_thinning_keeps_the_extremes(values: list[float | None], columns: int) -> None:
    kept = thinned(values, columns)
    assert len(kept) <= max(2 * columns, 1)
    assert [index for index, _ in kept] == sorted({index for index, _ in kept})
    assert all(values[index] == value or value is None for index, value in kept)
    known = [value for value in values if value is not None]
    shown = [value for _, value in kept if value is not None]
    assert (min(known), max(known)) == (min(shown), max(shown)) if known else not shown


def test_a_line_breaks_off_where_nothing_is_known() -> None:
    assert polyline((1.0, None, NAN, 4.0), 2.0) == [(1.0, 1.0), None, None, (7.0, 4.0)]


def test_a_stepped_line_lasts_until_the_end_of_its_last_step() -> None:
    assert polyline((1.0, 3.0), 2.0, stepped=True) == [(0.0, 1.0), (2.0, 3.0), (4.0, 3.0)]


def test_data_cannot_end_the_script_it_is_in() -> None:
    evil = "</script><script>alert(1)</script>&amp;<!--"
    chart = Chart(id="a", title=evil, note=evil, lines=(ChartLine(evil, evil, "blue"),))
    page = document("title", [], Drawing(charts=(chart,), lines={evil: [(0.0, 1.0), None]}))
    assert evil not in page and page.count("<script") == 2
    found = re.search(r'<script type="application/json" id="drawing">(.*?)</script>', page)
    assert found is not None
    assert json.loads(found.group(1))["lines"] == {evil: [[0.0, 1.0], None]}


def test_markup_escapes_all_but_markup() -> None:
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
    assert number(0.5) == "0.5"
    assert number(1200.0) == "1,200"
    assert seconds(0.0125) == "12.5 ms"
    assert seconds(75.0) == "75 s"
    assert signed(0.04, 1) == "0.0"
    assert signed(1.25, 2) == "+1.25"
    assert signed(-2.0, 0) == "\N{MINUS SIGN}2"


def test_every_format_shows_what_is_missing_as_a_dash() -> None:
    assert {written(None) for written in FORMATS.values()} == {MISSING}
    assert FORMATS["joules"](7_200.0) == "2 Wh"
    assert FORMATS["hertz"](1.8e9) == "1.80 GHz"
