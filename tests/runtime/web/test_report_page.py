"""Reports in a headless Chromium, opened as files: drawn by the page's script."""

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.report import write_report
from benchmarks.results import Comparison, CurvePoint
from runtime.insight.journals import recorded_run
from runtime.insight.report import render_report
from runtime.web.server import WebServer
from tests.benchmarks.comparisons import full_comparison, make_comparison, make_run
from tests.runtime.web.browser import Page
from tests.runtime.web.recorded import recorded, write

LINES = """
(id => [...document.querySelectorAll(`#${id} svg.chart .line`)]
  .map(path => (path.getAttribute('d').match(/[LHV]/g) ?? []).length))
"""
OVERLAPS = """
(() => { const boxes = [...document.querySelectorAll('#scatter .name')]
    .map(e => e.getBoundingClientRect());
  return boxes.flatMap((a, i) => boxes.slice(i + 1).filter(b =>
    a.left < b.right - 1 && b.left < a.right - 1
    && a.top < b.bottom - 3 && b.top < a.bottom - 3)).length })()
"""


def opened(page: Page, path: Path) -> None:
    page.open(path.as_uri())
    page.wait_for("document.body.dataset.drawn")


def compared(page: Page, tmp_path: Path, comparison: Comparison) -> None:
    write_report(comparison, tmp_path / "report.html")
    opened(page, tmp_path / "report.html")


def test_a_comparison_is_drawn(page: Page, tmp_path: Path) -> None:
    comparison = full_comparison()
    compared(page, tmp_path, comparison)
    for chart in ("arrivals", "executors", "frequency", "latency", "power"):
        assert max(page.evaluate(f"{LINES}('{chart}')")) >= 2, chart
    assert page.evaluate("document.querySelectorAll('#violations .mark').length") == 4
    assert page.evaluate("document.querySelectorAll('#latency path.limit').length") == 2
    policies = {run.row.policy for run in comparison.runs}
    names = "[...document.querySelectorAll('#scatter .name:not(.small)')].map(e => e.textContent)"
    assert set(page.evaluate(names)) == policies
    dots = page.evaluate("document.querySelectorAll('#scatter .dot').length")
    assert dots == len(policies) + len(comparison.curve)
    assert page.evaluate("document.querySelectorAll('#scatter .beyond').length") == 1
    assert page.evaluate(OVERLAPS) == 0
    assert page.errors() == []


def test_names_of_close_points_do_not_cover_each_other(page: Page, tmp_path: Path) -> None:
    runs = [
        make_run(name, mean_power_w=50.0 + index / 2, violations=3)
        for index, name in enumerate(("peak", "spl", "oracle", "rule-based", "foresight"))
    ]
    far = make_run("static-3", mean_power_w=90.0, violations=40)
    curve = tuple(CurvePoint(alpha, 3.0 + alpha, 60.0 - alpha, 1.0) for alpha in (0.5, 1.0, 2.0))
    compared(page, tmp_path, make_comparison(*runs, far, curve=curve))
    assert page.evaluate(OVERLAPS) == 0


def test_a_recorded_run_and_two_runs_are_drawn(page: Page, tmp_path: Path) -> None:
    first = write(tmp_path / "orders", recorded(160))
    second = write(tmp_path / "other", recorded(120, seed=3))
    one, both = recorded_run(first), recorded_run(second)
    (tmp_path / "one.html").write_text(render_report(one))
    opened(page, tmp_path / "one.html")
    assert page.evaluate("document.querySelectorAll('#charts figure').length") == 6
    for chart in ("arrivals", "latency", "executors", "frequency", "power"):
        assert max(page.evaluate(f"{LINES}('{chart}')")) >= 100, chart
    assert page.evaluate("document.querySelectorAll('#arrivals path.band').length") >= 1
    (tmp_path / "two.html").write_text(render_report(one, both))
    opened(page, tmp_path / "two.html")
    drawn = "document.querySelectorAll('#latency .chart .line').length"
    assert page.evaluate(drawn) == 2
    assert page.errors() == []


def test_the_pointer_reads_a_report_out(page: Page, tmp_path: Path) -> None:
    compared(page, tmp_path, full_comparison())
    x, y = page.evaluate(
        "(() => { const svg = document.querySelector('#executors svg.chart'); svg.scrollIntoView();"
        "const box = svg.getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2] })()"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.wait_for("document.querySelector('#power .cursor').getAttribute('d')")
    assert page.evaluate("document.querySelector('#power .legend b').textContent") != ""


@pytest.mark.parametrize("width", [390, 1200])
def test_a_report_is_not_scrolled_sideways(page: Page, tmp_path: Path, width: int) -> None:
    page.resize(width, 900, mobile=width < 500)
    compared(page, tmp_path, full_comparison())
    page.wait_for(f"document.documentElement.scrollWidth <= {width}")


def test_hostile_names_stay_text(page: Page, tmp_path: Path) -> None:
    evil = "</script><img src=x onerror=alert(1)>"
    comparison = replace(make_comparison(make_run(evil)), scenario=evil)
    compared(page, tmp_path, comparison)
    assert page.evaluate("document.querySelectorAll('img').length") == 0
    assert evil in page.evaluate("document.body.innerText")
    assert page.errors() == []


def test_axes_hold_their_values_with_few_round_ticks(page: Page, server: WebServer) -> None:
    page.open(server.url)
    wrong = page.evaluate("""
      import('/assets/scale.js').then(({ ticks }) => {
        const wrong = [];
        for (let index = 0; index < 500; index += 1) {
          const low = index * 0.37, high = low + 10 ** ((index % 17) - 8);
          const found = ticks(low, high, 4, index % 2 === 0 && high - low > 1);
          const holds = found[0] <= low + 1e-9 && found.at(-1) >= high - 1e-9;
          if (!holds || found.length > 8) wrong.push([low, high, found]);
        }
        return wrong;
      })
    """)
    assert wrong == []
