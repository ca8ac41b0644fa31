"""What README and docs say can be typed exists: commands, options, keys, files.

The other way round, every key and every option is on a generated page (`test_generated.py`).
"""

import re
import shlex
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.agent.service.settings import AgentConfig
from runtime.cli.reference import commands
from runtime.config import Config
from runtime.config.options import options
from runtime.kubernetes.values import Values
from tests.support.documents import PAGES, WRITTEN, blocks, inline, name_of

COMMANDS = {command.words: command for command in commands()}
GROUPS = {" ".join(words.split()[:end]) for words in COMMANDS for end in (1, 2)}
KEYS = {".".join(key) for schema in (Config, AgentConfig, Values) for key in options(schema)}
SECTIONS = {key.rpartition(".")[0] for key in KEYS} - {""}


def typed(page: Path) -> Iterator[list[str]]:
    """The words of every command line that begins with `foresight`."""
    for block in (*blocks(page), *inline(page)):
        for line in block.replace("\\\n", " ").splitlines():
            for part in re.split(r"&&|;|\||\$\(", line):
                words = shlex.split(part.strip().removeprefix("$ "), comments=True)
                if words[:1] == ["foresight"]:
                    yield words


def mistakes(words: list[str]) -> Iterator[str]:
    """What the command line names that is not there."""
    known = next((end for end in (3, 2, 1) if " ".join(words[:end]) in COMMANDS), 1)
    command = COMMANDS[" ".join(words[:known])]
    named = words[known : known + 1]
    if known == 1 and named and re.fullmatch(r"[a-z-]+", named[0]) and named[0][0] != "-":
        if f"foresight {named[0]}" not in GROUPS:
            yield f"command {named[0]}"
        elif len(words) > 2 and re.fullmatch(r"[a-z][a-z-]+", words[2]):
            yield f"command {named[0]} {words[2]}"
    spellings = {spelling for each in command.parameters for spelling in each.spellings}
    rest = words[known:]
    for index, word in enumerate(rest):
        if command.words == "foresight submit" and word.endswith(".py"):
            return  # what follows is the application's
        option = word.partition("=")[0]
        if re.fullmatch(r"--?[a-z][a-z-]*", option) and option not in {*spellings, "--help"}:
            yield f"option {option} of {command.words}"
        if word == "--set" and index + 1 < len(rest):
            key = rest[index + 1].partition("=")[0]
            if "=" in rest[index + 1] and key not in KEYS:
                yield f"key {key}"


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_command_and_option_that_is_named_exists(page: Path) -> None:
    assert [mistake for words in typed(page) for mistake in mistakes(words)] == []


def test_command_lines_are_found_and_mistakes_in_them_seen() -> None:
    """Without this, a page whose lines are never read would pass."""
    assert sum(len(list(typed(page))) for page in WRITTEN) > 60
    assert list(mistakes(shlex.split("foresight submit --cluster x app.py --duration 3"))) == [
        "option --cluster of foresight submit"
    ]
    assert list(mistakes(shlex.split("foresight bench nothing"))) == ["command bench nothing"]
    assert list(mistakes(shlex.split("foresight top --once x"))) == []
    assert list(mistakes(shlex.split("foresight check f --set cost.alfa=1"))) == ["key cost.alfa"]


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_key_of_the_configuration_that_is_named_exists(page: Path) -> None:
    named = re.findall(r"`([a-z]+(?:\.[a-z0-9_-]+)+)`", page.read_text(encoding="utf-8"))
    # Spark's own options begin like one of our tables.
    tables = {section.split(".")[0] for section in SECTIONS} - {"spark"}
    unknown = [
        key
        for key in named
        if key.split(".")[0] in tables and key not in KEYS | SECTIONS and not is_file(key)
    ]
    assert unknown == []


@pytest.mark.parametrize("page", WRITTEN, ids=name_of)
def test_every_toml_block_has_keys_that_exist(page: Path) -> None:
    blocks = re.findall(
        r"^```toml\n(.*?)^```", page.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    unknown = [key for block in blocks for key in flat(tomllib.loads(block), "") if key not in KEYS]
    assert unknown == []


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_every_link_within_the_repository_leads_somewhere(page: Path) -> None:
    targets = re.findall(r"\]\(([^)#\s]+)(?:#[^)]*)?\)", page.read_text(encoding="utf-8"))
    missing = [
        target
        for target in targets
        if "://" not in target and not (page.parent / target).resolve().exists()
    ]
    assert missing == []


def is_file(key: str) -> bool:
    return key.rpartition(".")[2] in {"py", "toml", "md", "json", "jsonl", "html", "csv"}


def flat(table: dict[str, object], prefix: str) -> Iterator[str]:
    for key, value in table.items():
        if isinstance(value, dict):
            yield from flat(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}"
