"""The generated files say what the schemas say."""

import re
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from mpc.events import EventKind
from runtime.agent.service.documents import agent_configuration_page, default_agent_toml
from runtime.agent.service.settings import AgentConfig, load_agent_config
from runtime.config import Config, load_config
from runtime.config.documents import configuration_page, default_toml
from runtime.config.options import Option, options
from runtime.documents import GENERATED, write_generated
from runtime.metrics.documents import events_page

ROOT = Path(__file__).parents[2]

CONTROLLER = (Config, load_config, default_toml, configuration_page)
AGENT = (AgentConfig, load_agent_config, default_agent_toml, agent_configuration_page)
Load = Callable[[Path], msgspec.Struct]


@pytest.mark.parametrize("path", GENERATED, ids=str)
def test_the_generated_files_are_fresh(path: Path) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == GENERATED[path](), "stale: run `make docs`"


def test_every_event_is_on_its_page_with_words_and_advice() -> None:
    rows = [line for line in events_page().splitlines() if line.startswith("| `")]
    for kind, row in zip(EventKind, rows, strict=True):
        assert row.startswith(f"| `{kind.value}` | {kind.severity.value} |")
        assert kind.words in row
        assert kind.advice in row


def test_writing_makes_every_file(tmp_path: Path) -> None:
    write_generated(tmp_path)
    for path, text in GENERATED.items():
        assert (tmp_path / path).read_text(encoding="utf-8") == text()


@pytest.mark.parametrize(("schema", "load", "toml", "_page"), [CONTROLLER, AGENT])
def test_the_default_file_reads_back_as_the_defaults(
    schema: type[msgspec.Struct],
    load: Load,
    toml: Callable[[], str],
    _page: object,
    tmp_path: Path,
) -> None:
    path = tmp_path / "file.toml"
    path.write_text(toml(), encoding="utf-8")
    assert load(path) == schema()


@pytest.mark.parametrize(
    ("key", "toml", "page"),
    [(key, toml, page) for schema, _, toml, page in (CONTROLLER, AGENT) for key in options(schema)],
)
def test_every_option_stands_in_file_and_page(
    key: tuple[str, ...], toml: Callable[[], str], page: Callable[[], str]
) -> None:
    assert re.search(rf"^(# )?{key[-1]} = ", toml(), re.MULTILINE)
    assert f"| `{'.'.join(key)}` |" in page()


@pytest.mark.parametrize(
    ("option", "schema", "load", "toml"),
    [
        (option, schema, load, toml)
        for schema, load, toml, _ in (CONTROLLER, AGENT)
        for option in options(schema).values()
        if option.absent is not None
    ],
)
def test_a_commented_example_is_a_good_value(
    option: Option,
    schema: type[msgspec.Struct],
    load: Load,
    toml: Callable[[], str],
    tmp_path: Path,
) -> None:
    name = option.key[-1]
    # The files of TLS stand together, and so do the terms of the power model.
    tls = ("authority", "certificate", "key")
    power = ("base_w", "per_ghz_w", "per_executor_ghz_w", "per_executor_ghz3_w")
    names = next((together for together in (tls, power) if name in together), (name,))
    text = toml()
    for each in names:
        text = text.replace(f"# {each} = ", f"{each} = ")
    if name == "list_khz":
        text = re.sub(r"^(min|max|step)_khz = .*$", "", text, flags=re.MULTILINE)
    path = tmp_path / "file.toml"
    path.write_text(text, encoding="utf-8")
    assert load(path) != schema()
