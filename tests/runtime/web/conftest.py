"""Recorded journals, a server on them, and one browser for all tests of the page."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.config.web import Web
from runtime.control.journal import StepRecord
from runtime.web.server import WebServer, web_server
from tests.runtime.web.browser import Browser, Page, chromium, running
from tests.runtime.web.recorded import config, recorded, write

STEPS = 160


@pytest.fixture(scope="session")
def records() -> tuple[StepRecord, ...]:
    return recorded(STEPS)


@pytest.fixture(scope="session")
def written_journal(
    tmp_path_factory: pytest.TempPathFactory, records: tuple[StepRecord, ...]
) -> Path:
    return write(tmp_path_factory.mktemp("journal") / "orders", records[:-10])


@pytest.fixture
def journal(tmp_path: Path, written_journal: Path) -> Path:
    """Of all the records but the last ten, which tests publish."""
    return shutil.copytree(written_journal, tmp_path / "orders")


@pytest.fixture
def server(journal: Path) -> Iterator[WebServer]:
    with web_server(config(), Web(port=0), journal) as running_server:
        yield running_server


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    program = chromium()
    if program is None:
        pytest.skip("no Chromium here: scripts/chromium.sh installs it")
    with running(program, tmp_path_factory.mktemp("chromium")) as started:
        yield started


@pytest.fixture
def page(browser: Browser) -> Iterator[Page]:
    opened = browser.page()
    opened.resize(1440, 900)
    yield opened
    opened.close()
