"""The page in a headless Chromium: drawn, alive, quiet, and readable everywhere."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from runtime.config.web import Web
from runtime.control.journal import StepJournal, StepRecord
from runtime.fleet.state import FleetState, HostState
from runtime.web.server import WebServer, journal_server, web_server
from tests.runtime.web.browser import Page
from tests.runtime.web.recorded import config, reported_by_batch, write

MISSING = "\N{EN DASH}"
CHARTS = ("arrivals", "latency", "executors", "frequency", "power", "cost")
Records = tuple[StepRecord, ...]

POINTS = """
(id => Math.max(0, ...[...document.querySelectorAll(`#${id} svg.chart :is(.line, .area)`)]
  .map(path => (path.getAttribute('d').match(/[LHV]/g) ?? []).length)))
"""
CORNERS = """
(id => [...document.querySelectorAll(`#${id} .chart .line.measured:not(.ahead)`)]
  .map(path => path.getAttribute('d').slice(1).split('L').map(each => each.split(' ').map(Number))))
"""
LUMINANCE = """
(name => { const [r, g, b] = getComputedStyle(document.body)[name].match(/[0-9.]+/g).map(Number);
  return (r + g + b) / 765 })
"""
SIDEWAYS = """
(() => { const root = document.documentElement;
  return [...document.querySelectorAll('body *')]
    .filter(each => !each.closest('svg'))
    .filter(each => each.getBoundingClientRect().right > root.clientWidth + 1)
    .map(each => each.tagName + '.' + each.className) })()
"""


@pytest.fixture
def hosts() -> FleetState:
    well = HostState("worker-1", True, True, 1_400_000, 1_300_000, age_s=0.5, power_w=41.0)
    return FleetState((well, HostState("worker-2", False, problem="no answer for 34 s")))


@pytest.fixture
def shown(page: Page, journal: Path, hosts: FleetState) -> Iterator[tuple[Page, WebServer]]:
    with web_server(config(), Web(port=0), journal, lambda: hosts) as server:
        page.open(server.url)
        page.wait_for("document.body.dataset.step && document.body.dataset.connection === 'open'")
        yield page, server


def test_everything_is_drawn_without_a_complaint(
    shown: tuple[Page, WebServer], records: Records
) -> None:
    page, _ = shown
    page.evaluate("[...document.querySelectorAll('#windows button')].at(-1).click()")
    for chart in CHARTS:
        assert page.evaluate(f"{POINTS}('{chart}')") >= 100, chart
        for axis in ("x", "y"):
            ticks = f"document.querySelectorAll('#{chart} .tick.{axis}').length"
            assert page.evaluate(ticks) >= 2, chart
    late = sum((record.measurement.latency_s or 0.0) > 1.5 for record in records[:-10])
    assert page.evaluate("document.querySelectorAll('#latency .violation').length") == late > 0
    assert page.evaluate("document.querySelectorAll('#latency path.limit').length") == 2
    assert page.evaluate("document.querySelectorAll('#arrivals path.band').length") >= 1
    assert page.evaluate("document.querySelectorAll('#arrivals path.ahead').length") == 1
    assert page.evaluate("document.querySelectorAll('#executors path.ahead').length") == 1
    words = page.evaluate("document.body.innerText")
    for expected in ("orders", "modelled", "target 1.5 s", "worker-2", "no answer for 34 s"):
        assert expected in words
    assert page.evaluate("document.querySelectorAll('#decisions > li .words').length") > 3
    assert (
        page.evaluate("document.querySelectorAll('#alternatives tbody tr:not(.reason)').length")
        == 4
    )
    assert page.errors() == []


def test_values_told_once_a_batch_are_joined_where_they_belong(
    page: Page, tmp_path: Path, records: Records
) -> None:
    every, age, last = 20, 15, 149
    sparse = reported_by_batch(records[: last + 1], every, age)
    assert sparse[-1].measurement.arrivals_per_s is None
    with web_server(config(), Web(port=0), write(tmp_path / "orders", sparse)) as server:
        page.open(server.url)
        page.wait_for("document.body.dataset.step && document.body.dataset.connection === 'open'")
        (arrived,) = page.evaluate(f"{CORNERS}('arrivals')")
        (latency,) = page.evaluate(f"{CORNERS}('latency')")
        told = last // every
        assert len(arrived) == len(latency) == told
        now = float(
            page.evaluate("document.querySelector('#arrivals .now').getAttribute('d')")
            .split()[0]
            .removeprefix("M")
        )
        px_per_step = (arrived[-1][0] - arrived[0][0]) / (every * (told - 1))
        since_told = last - every * told
        assert (now - arrived[-1][0]) / px_per_step == pytest.approx(since_told + age, abs=0.2)
        assert (now - latency[-1][0]) / px_per_step == pytest.approx(since_told, abs=0.2)
        for shown in (
            "#figures .figure:nth-child(1) strong",
            "#figures .figure:nth-child(2) strong",
            "#arrivals .legend li:nth-child(2) b",
            "#latency .legend li:nth-child(1) b",
        ):
            assert page.evaluate(f"document.querySelector('{shown}').textContent") != MISSING, shown
        assert page.errors() == []


def test_values_that_are_overdue_are_shown_no_more(
    page: Page, tmp_path: Path, records: Records
) -> None:
    silent = reported_by_batch(records[50:150], 1000, 0)
    sparse = (*reported_by_batch(records[:50], 4, 3), *silent[1:])
    with web_server(config(), Web(port=0), write(tmp_path / "orders", sparse)) as server:
        page.open(server.url)
        page.wait_for("document.body.dataset.step && document.body.dataset.connection === 'open'")
        words = page.evaluate("document.querySelector('#figures').innerText").split()
        assert words[words.index("Arrivals") + 1] == MISSING
        shown = "document.querySelector('#latency .legend b').textContent"
        assert page.evaluate(shown) == MISSING


def test_a_cheaper_alternative_has_one_sign(page: Page, tmp_path: Path, records: Records) -> None:
    record = next(each for each in records if each.decision.alternatives)
    plan, (first, *_) = record.decision.plan, record.decision.alternatives
    assert plan is not None
    cheaper = replace(first, cost=replace(plan.cost, resource=plan.cost.resource - 1.483))
    dearer = replace(first, cost=replace(plan.cost, resource=plan.cost.resource + 2.0))
    decision = replace(record.decision, alternatives=(cheaper, dearer))
    folder = write(tmp_path / "orders", (replace(record, decision=decision),))
    with web_server(config(), Web(port=0), folder) as server:
        page.open(server.url)
        page.wait_for("document.body.dataset.step")
        more = page.evaluate(
            "[...document.querySelectorAll('#alternatives tbody tr:not(.reason)')]"
            ".map(row => row.lastElementChild.textContent)"
        )
        assert more == ["", "-1.483", "+2.000"]


def test_steps_arrive_by_themselves(shown: tuple[Page, WebServer], records: Records) -> None:
    page, server = shown
    for record in records[-10:]:
        server.publish(record)
    last = records[-1]
    page.wait_for(f"document.body.dataset.step === '{last.measurement.step}'")
    arrivals = page.evaluate("document.querySelector('.figure strong').textContent")
    assert float(arrivals.replace(",", "")) == pytest.approx(
        last.measurement.arrivals_per_s, rel=1e-3
    )
    assert page.errors() == []


def test_live_steps_draw_what_a_new_page_draws(
    page: Page, tmp_path: Path, records: Records
) -> None:
    sparse = reported_by_batch(records, 12, 9)
    # Some steps are missed on the way.
    sent = [record for index, record in enumerate(sparse) if not 70 <= index < 95]
    drawn = "[...document.querySelectorAll('.chart .line, .chart .area')].map(e => e.outerHTML)"
    with web_server(config(), Web(port=0), write(tmp_path / "orders", tuple(sent[:20]))) as server:
        page.open(server.url)
        page.wait_for("document.body.dataset.step && document.body.dataset.connection === 'open'")
        for record in sent[20:]:
            server.publish(record)
        page.wait_for(f"document.body.dataset.step === '{sent[-1].measurement.step}'")
        live = page.evaluate(drawn)
        page.open(server.url)
        page.wait_for(f"document.body.dataset.step === '{sent[-1].measurement.step}'")
        assert page.evaluate(drawn) == live
        assert page.errors() == []


def test_the_page_outlives_the_server(page: Page, journal: Path, records: Records) -> None:
    with web_server(config(), Web(port=0), journal) as first:
        page.open(first.url)
        page.wait_for("document.body.dataset.connection === 'open'")
        port = urlsplit(first.url).port or 0
    page.wait_for("document.body.dataset.connection === 'lost'")
    with StepJournal(journal, 64_000_000) as written:
        for record in records[-10:-1]:
            written.append(record)
    with web_server(config(), Web(port=port), journal) as second:
        assert urlsplit(second.url).port == port
        page.wait_for("document.body.dataset.connection === 'open'")
        page.wait_for(f"document.body.dataset.step === '{records[-2].measurement.step}'")
        second.publish(records[-1])
        page.wait_for(f"document.body.dataset.step === '{records[-1].measurement.step}'")
    # While nobody listens requests fail, and Chromium says so; the page itself must not.
    assert page.errors(network=False) == []


@pytest.mark.parametrize(("scheme", "is_dark"), [("light", False), ("dark", True)])
def test_light_and_dark(shown: tuple[Page, WebServer], scheme: str, is_dark: bool) -> None:
    page, _ = shown
    page.prefer(scheme)
    ground = page.evaluate(f"{LUMINANCE}('backgroundColor')")
    ink = page.evaluate(f"{LUMINANCE}('color')")
    assert (ground < 0.2) is is_dark
    assert abs(ink - ground) > 0.6


@pytest.mark.parametrize("width", [320, 390, 768, 1024, 1440])
def test_nothing_is_scrolled_sideways(shown: tuple[Page, WebServer], width: int) -> None:
    page, _ = shown
    page.resize(width, 800, mobile=width < 500)
    page.wait_for(f"document.documentElement.clientWidth === {width}")
    page.wait_for(f"document.documentElement.scrollWidth <= {width}")
    assert page.evaluate(SIDEWAYS) == []


def test_the_pointer_shows_the_values_of_a_moment(shown: tuple[Page, WebServer]) -> None:
    page, _ = shown
    x, y = page.evaluate(
        "(() => { const box = document.querySelector('#latency svg.chart').getBoundingClientRect();"
        "return [box.x + box.width / 2, box.y + box.height / 2] })()"
    )
    page.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
    page.wait_for("document.body.dataset.hover")
    for chart in CHARTS:
        assert page.evaluate(f"document.querySelector('#{chart} .cursor').getAttribute('d')")


def test_a_journal_without_steps_says_so(page: Page, tmp_path: Path) -> None:
    with web_server(config(), Web(port=0), tmp_path / "none") as server:
        page.open(server.url)
        page.wait_for("document.body.innerText.includes('No step yet')")
        assert page.errors() == []


def test_a_finished_run_is_over_not_broken(page: Page, journal: Path) -> None:
    with journal_server(Web(port=0), journal) as server:
        page.open(server.url)
        page.wait_for("document.body.innerText.includes('journal ends at')")
        assert page.evaluate(f"{POINTS}('arrivals')") >= 100
        assert page.errors() == []


def test_a_token_opens_the_page(page: Page, journal: Path, tmp_path: Path) -> None:
    token_file = tmp_path / "token"
    token_file.touch(mode=0o600)
    token_file.write_text("a-token-of-some-length")
    with web_server(config(), Web(port=0, token_file=str(token_file)), journal) as server:
        page.open(server.url)
        page.wait_for("location.pathname === '/login'")
        page.evaluate(
            "document.querySelector('#token').value = 'a-token-of-some-length';"
            "document.querySelector('form').requestSubmit()"
        )
        page.wait_for("location.pathname === '/' && document.body?.dataset.step")
        assert page.errors() == []


def test_markup_in_a_journal_stays_text(page: Page, tmp_path: Path, records: Records) -> None:
    bad = "<img src=x onerror=alert(1)>"
    first = replace(records[0], decision=replace(records[0].decision, reason=bad))
    with web_server(config(), Web(port=0), write(tmp_path / "bad", (first,))) as server:
        page.open(server.url)
        page.wait_for("document.body.dataset.step")
        assert bad in page.evaluate("document.body.innerText")
        assert page.evaluate("document.querySelectorAll('main img').length") == 0
        assert page.errors() == []
