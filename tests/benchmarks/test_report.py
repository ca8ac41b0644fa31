import json
import math
import re
import sys
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from statistics import fmean, stdev
from typing import Any
from xml.etree import ElementTree as ET

import pytest

from benchmarks.report import NoPicture, check_picture, write_report, write_svg
from benchmarks.report.colours import distinct_colours
from benchmarks.report.findings import (
    bound_power_w,
    curve_verdict,
    distance_to_bound,
    rivalries,
    summary,
)
from benchmarks.report.page import render_report
from benchmarks.report.picture import render_svg
from benchmarks.report.timeline import drawn_policies, violating_steps
from benchmarks.report.tradeoff import tradeoff
from benchmarks.results import Comparison, CurvePoint, Limit, Series
from benchmarks.statistics import by_policy, estimate
from runtime.report.text import MISSING
from tests.benchmarks.comparisons import (
    SERIES,
    STEPS,
    full_comparison,
    make_comparison,
    make_run,
)

NAN = float("nan")
SVG = "{http://www.w3.org/2000/svg}"


def parsed(page: str) -> ET.Element:
    """The page is XML too, so the strictest parser at hand checks every tag and entity."""
    return ET.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def words(node: ET.Element) -> str:
    return " ".join("".join(node.itertext()).split())


def table_rows(root: ET.Element, kind: str) -> dict[str, list[str]]:
    table = next(node for node in root.iter("table") if node.get("class") == kind)
    body = table.find("tbody")
    assert body is not None
    return {
        words(cells[0]): [words(cell) for cell in cells[1:]]
        for row in body
        for cells in (list(row),)
    }


def embedded(page: str) -> dict[str, Any]:
    """The data that the page draws."""
    found = re.search(r'id="drawing">(.*?)</script>', page)
    assert found is not None
    document: dict[str, Any] = json.loads(found.group(1))
    return document


class Balance(HTMLParser):
    """Fails on an end tag that does not close what was opened last."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


class TestPage:
    def test_is_well_formed_and_names_every_policy(self) -> None:
        comparison = full_comparison()
        page = render_report(comparison)
        root = parsed(page)
        balance = Balance()
        balance.feed(page)
        assert balance.open == []
        rows = table_rows(root, "saso")
        assert list(rows) == list(by_policy(comparison.runs))

    def test_needs_nothing_from_outside(self) -> None:
        page = render_report(full_comparison())
        addresses = set(re.findall(r"https?://[^\"'\s)]+", page))
        assert addresses == {"http://www.w3.org/2000/svg"}
        assert not re.search(r"\bsrc=|\bhref=|url\((?!#)|@import", page)

    def test_says_everywhere_that_it_is_simulated(self) -> None:
        root = parsed(render_report(full_comparison()))
        sections = [node for node in root.iter() if node.tag in {"header", "section", "footer"}]
        assert len(sections) == 6
        assert all("imulat" in words(section) for section in sections)
        drawing = embedded(render_report(full_comparison()))
        assert all("simulated" in chart["note"] for chart in drawing["charts"])
        assert "simulated" in drawing["scatter"]["label"]

    def test_the_same_comparison_gives_the_same_bytes(self, tmp_path: Path) -> None:
        for name in ("first", "second"):
            write_report(full_comparison(), tmp_path / f"{name}.html")
            write_svg(full_comparison(), tmp_path / f"{name}.svg")
        for kind in ("html", "svg"):
            first = (tmp_path / f"first.{kind}").read_bytes()
            assert first == (tmp_path / f"second.{kind}").read_bytes()

    def test_the_order_of_sections(self) -> None:
        titles = [words(node) for node in parsed(render_report(full_comparison())).iter("h2")]
        assert titles == [
            "SASO properties",
            "Violations against power",
            "Step by step",
            "Published figures beside ours",
        ]

    def test_text_is_escaped(self) -> None:
        evil = '<b>&"x</script>'
        comparison = replace(
            make_comparison(make_run(evil)), scenario=f"s{evil}", source=f"o{evil}"
        )
        page = render_report(comparison)
        root = parsed(page)
        assert "<b>" not in page
        assert evil in table_rows(root, "saso")
        assert f"o{evil}" in words(root)
        ET.fromstring(render_svg(comparison))

    def test_the_header_tells_the_conditions(self) -> None:
        header = next(parsed(render_report(full_comparison())).iter("header"))
        text = words(header)
        for part in ("paper-random-walk", "the paper's random walk", "1.5 ms", "3 seeds"):
            assert part in text


class TestSasoTable:
    def test_numbers_are_those_of_the_rows(self) -> None:
        root = parsed(render_report(make_comparison(make_run("spl", violations=4))))
        assert table_rows(root, "saso")["spl"] == [
            "2",
            "4",
            "8.25",
            "50.00",
            "0.30",
            "1.125",
            "0.800",
            "1.40",
            "2.60",
            "0.321",
            "0.987",
        ]

    def test_several_seeds_give_mean_and_interval(self) -> None:
        power_w = [48.0, 50.0, 55.0]
        runs = [make_run("spl", seed, mean_power_w=w) for seed, w in enumerate(power_w)]
        root = parsed(render_report(make_comparison(*runs)))
        # Student's t for two degrees of freedom and 95 %: 4.303 (any table).
        half_width = 4.303 * stdev(power_w) / math.sqrt(3)
        expected = f"{fmean(power_w):.2f} ± {half_width:.1f}"
        assert table_rows(root, "saso")["spl"][3] == expected

    def test_one_seed_has_no_interval(self) -> None:
        page = render_report(make_comparison(make_run("spl")))
        saso = table_rows(parsed(page), "saso")["spl"]
        assert not any("±" in cell for cell in saso)
        assert "without a confidence interval" in page

    def test_what_was_not_measured_is_a_dash(self) -> None:
        run = make_run("spl", latency_mean_s=NAN, amplitude=NAN)
        cells = table_rows(parsed(render_report(make_comparison(run))), "saso")["spl"]
        assert cells[5] == cells[6] == MISSING

    def test_long_thresholds_are_told_in_seconds(self) -> None:
        run = make_run("spl", latency_mean_s=12.5)
        page = render_report(make_comparison(run, threshold_s=30.0))
        assert table_rows(parsed(page), "saso")["spl"][6] == "12.5"
        assert "30 s" in page


class TestWhatMayBeMissing:
    @pytest.mark.parametrize(
        "comparison",
        [
            make_comparison(),
            make_comparison(make_run("peak")),
            make_comparison(make_run("foresight"), limit=(Limit(0, 45.0),)),
            make_comparison(make_run("spl"), curve=(CurvePoint(1.0, 0.0, 50.0, 1.0),)),
            make_comparison(curve=(CurvePoint(1.0, 0.0, 50.0, 1.0),)),
            make_comparison(
                make_run("foresight", mean_power_w=NAN),
                curve=(CurvePoint(1.0, NAN, NAN, NAN),),
                limit=(Limit(0, NAN), Limit(1, 40.0)),
            ),
            make_comparison(make_run("foresight", series=Series((), (), (), (), (), ()))),
            make_comparison(
                make_run(
                    "foresight",
                    series=replace(
                        SERIES, latency_s=(None,) * STEPS, expected_per_s=(None,) * STEPS
                    ),
                )
            ),
            make_comparison(make_run("spl", mean_power_w=0.0), scenario="replay"),
        ],
    )
    def test_is_handled(self, comparison: Comparison) -> None:
        page = render_report(comparison)
        parsed(page)
        text = json.dumps(embedded(page))
        assert "NaN" not in text and "Infinity" not in text
        ET.fromstring(render_svg(comparison))

    def test_a_gap_in_a_series_is_a_gap_in_its_line(self) -> None:
        def gaps(series: Series) -> int:
            page = render_report(make_comparison(make_run("foresight", series=series)))
            line: list[object] = embedded(page)["lines"]["latency/foresight"]
            return line.count(None)

        assert gaps(SERIES) == SERIES.latency_s.count(None) > 0
        assert gaps(replace(SERIES, latency_s=(1e-3,) * STEPS)) == 0


class TestTimeline:
    def test_draws_the_main_policies_and_fills_up_to_four(self) -> None:
        runs = [make_run(name) for name in ("spl", "oracle", "peak", "rule-based", "foresight")]
        drawn = drawn_policies(by_policy(runs))
        assert [policy.policy for policy in drawn] == ["foresight", "peak", "spl", "oracle"]

    def test_a_step_without_result_violates_only_if_something_arrived(self) -> None:
        assert violating_steps(SERIES, 1.5e-3) == (2, 3)

    def test_colours_of_a_chart_are_distinct(self) -> None:
        colours = distinct_colours(["lat-node-h1", "lat-node-h2", "lat-node-h3", "odd"])
        assert len(set(colours.values())) == 4


class TestFindings:
    def test_the_bound_is_interpolated(self) -> None:
        limit = (Limit(0, 50.0), Limit(2, 40.0), Limit(3, 39.0))
        assert bound_power_w(limit, 1.0) == pytest.approx(45.0)
        assert bound_power_w(limit, 2.5) == pytest.approx(39.5)
        assert bound_power_w(limit, 9.0) == 39.0
        assert bound_power_w((Limit(0, NAN), Limit(1, 44.0)), 0.5) == 44.0
        assert bound_power_w((), 1.0) is None

    def test_the_distance_is_at_equal_violations(self) -> None:
        text = distance_to_bound(
            make_comparison(
                make_run("foresight", mean_power_w=50.0, violations=1),
                limit=(Limit(0, 45.0), Limit(2, 35.0)),
            )
        ).replace("\N{NO-BREAK SPACE}", " ")
        assert "is 40.0 W" in text
        assert "10.0 W (25 %) above" in text

    def test_the_summary_is_computed(self) -> None:
        text = summary(full_comparison()).replace("\N{NO-BREAK SPACE}", " ")
        assert "0 of 6 steps at a mean power of 52.0 W" in text
        assert "against 2 at 61.0 W for lat-node-h2: 15 % less power" in text
        assert "7.0 W (16 %) above" in text
        worse = make_comparison(
            make_run("foresight", mean_power_w=66.0), make_run("peak", mean_power_w=60.0)
        )
        assert "10 % more power" in summary(worse).replace("\N{NO-BREAK SPACE}", " ")

    def test_a_policy_is_outdone_only_in_all_three(self) -> None:
        by_name = {
            rivalry.policy.policy: rivalry
            for rivalry in rivalries(
                make_comparison(
                    make_run("spl", violations=3, mean_power_w=50.0, reconfigurations=9),
                    make_run("peak", violations=2, mean_power_w=70.0, reconfigurations=0),
                    make_run("static-3", violations=0, mean_power_w=30.0, reconfigurations=0),
                    make_run("lat-node-h2", violations=2, mean_power_w=49, reconfigurations=5),
                    make_run("foresight"),
                    make_run("oracle"),
                    curve=(CurvePoint(1.0, 2.0, 49.0, 5.0), CurvePoint(2.0, 1.0, 55.0, 4.0)),
                )
            )
        }
        assert set(by_name) == {"spl", "peak", "static-3", "lat-node-h2"}
        assert by_name["spl"].outdone
        assert by_name["spl"].rival == CurvePoint(1.0, 2.0, 49.0, 5.0)
        assert not by_name["peak"].outdone
        assert by_name["peak"].rival == CurvePoint(2.0, 1.0, 55.0, 4.0)
        assert by_name["static-3"].rival is None
        # Equal in all three is not better in one.
        assert not by_name["lat-node-h2"].outdone

    def test_the_verdict_counts(self) -> None:
        comparison = full_comparison()
        beaten = sum(rivalry.outdone for rivalry in rivalries(comparison))
        assert 0 < beaten < 5
        assert f"outdoes {beaten} of 5" in curve_verdict(comparison)
        assert f"outdoes {beaten} of 5" in render_report(comparison)

    def test_published_verdicts_are_shown(self) -> None:
        rows = table_rows(parsed(render_report(full_comparison())), "published")
        cells = rows["power saved by lat-power-nosw against lat-node-nosw"]
        assert cells[:4] == ["18.2 %", "18.3 %", "+0.1 points", "within ± 4 points"]

    def test_estimates_ignore_what_is_missing(self) -> None:
        assert estimate([None, NAN]).mean is None
        assert estimate([3.0, None]) == estimate([3.0])
        both = estimate([1.0, 3.0, NAN])
        assert both.mean == 2.0
        # Student's t for one degree of freedom: 12.706.
        assert both.half_width == pytest.approx(12.706, rel=1e-4)


class TestTradeoff:
    def test_points_curve_and_bound_are_those_of_the_comparison(self) -> None:
        comparison = full_comparison()
        scatter = tradeoff(comparison)
        assert scatter is not None
        assert [point.name for point in scatter.points] == list(by_policy(comparison.runs))
        assert [(point.x, point.y) for point in scatter.curve] == [
            (point.mean_power_w, point.violations)
            for point in sorted(comparison.curve, key=lambda point: point.alpha)
        ]
        assert [violations for _, violations in scatter.bound] == sorted(
            (limit.violations for limit in comparison.limit), reverse=True
        )

    def test_what_is_not_finite_is_left_out(self) -> None:
        scatter = tradeoff(
            make_comparison(
                make_run("peak", mean_power_w=NAN), make_run("spl"), limit=(Limit(0, NAN),)
            )
        )
        assert scatter is not None
        assert [point.name for point in scatter.points] == ["spl"]
        assert scatter.bound == ()
        assert tradeoff(make_comparison()) is None


class TestPicture:
    def test_names_every_policy_and_how_it_was_made(self) -> None:
        text = render_svg(full_comparison())
        root = ET.fromstring(text)
        assert root.tag == f"{SVG}svg"
        assert "simulated" in text
        for policy in by_policy(full_comparison().runs):
            assert policy in text

    def test_without_matplotlib_there_is_one_sentence(
        self, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        with pytest.raises(NoPicture, match="needs matplotlib"):
            check_picture()
