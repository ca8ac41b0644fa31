"""A counter of another distribution: the example of the docs is found, asked and believed."""

import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from forecasting.third_party import Discovery, discover
from runtime.spark.sensing.asked import AskedSources
from runtime.spark.sensing.sources.catalogue import (
    GROUP,
    SourceEntry,
    check_third_party_source,
    counter_of,
)
from runtime.spark.sensing.sources.contract import SourceInfo
from tests.runtime.spark.fake_query import FakeQuery
from tests.runtime.spark.sensor_bench import EPOCH_S
from tests.runtime.test_third_party import blocks, distribution


class Table(BaseHTTPRequestHandler):
    """Tells the number of its newest row, which is 50 more each time."""

    newest = 0

    def do_GET(self) -> None:
        Table.newest += 50
        self.send_response(200)
        self.end_headers()
        self.wfile.write(str(Table.newest).encode())

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def table_url() -> Iterator[str]:
    with HTTPServer(("127.0.0.1", 0), Table) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def found(
    folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, entry: str, text: str
) -> Discovery[SourceEntry]:
    distribution(folder, "tables", f"[{GROUP}]\n{name} = {entry}\n", table_counter=text)
    monkeypatch.syspath_prepend(folder)
    monkeypatch.delitem(sys.modules, "table_counter", raising=False)
    return discover(GROUP, SourceEntry, check_third_party_source)


def test_the_example_is_found_and_asked(
    table_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, _, example = blocks("python")
    discovery = found(tmp_path, monkeypatch, "table", "table_counter:ENTRY", example)
    (entry,) = [each for each in discovery.usable if each.name == "table"]
    query = FakeQuery()
    query.made_of = (SourceInfo("table", "any", {"url": table_url}),)
    asked = AskedSources(query, 1.0, entry.build)
    assert asked.ask((), 1.0, EPOCH_S).arrivals_per_s is None
    assert asked.ask((), 2.0, EPOCH_S + 1.0).arrivals_per_s == pytest.approx(50.0)
    monkeypatch.delitem(sys.modules, "table_counter", raising=False)


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("table", "1", "is no SourceEntry"),
        ("RateStream", "SourceEntry('RateStream', 'a:B')", "counted by Foresight itself"),
        ("table", "SourceEntry('table', 'nowhere')", "module:Class"),
    ],
)
def test_an_entry_that_cannot_be_used_is_set_aside(
    name: str, entry: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f"from runtime.spark.sensing.sources.catalogue import SourceEntry\nENTRY = {entry}\n"
    discovery = found(tmp_path, monkeypatch, name, "table_counter:ENTRY", text)
    monkeypatch.delitem(sys.modules, "table_counter", raising=False)
    (broken,) = discovery.broken
    assert broken.name == name
    assert words in broken.reason


def test_a_source_that_nobody_knows_is_not_counted() -> None:
    assert counter_of(SourceInfo("DeltaSource", "DeltaSource[s3://quotes]", {})) is None
