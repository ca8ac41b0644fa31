"""`foresight.toml` and docs/configuration.md say what the schema says."""

import re
from pathlib import Path

import pytest

from runtime.config import Config, load_config
from runtime.config.options import Option, options
from runtime.config.render import (
    TABLE_PATH,
    TOML_PATH,
    default_toml,
    option_tables,
    write_generated,
)

ROOT = Path(__file__).parents[2]
OPTIONAL = [option for option in options().values() if option.absent is not None]


@pytest.mark.parametrize(
    ("path", "text"), [(TOML_PATH, default_toml()), (TABLE_PATH, option_tables())]
)
def test_the_generated_files_are_fresh(path: Path, text: str) -> None:
    assert (ROOT / path).read_text(encoding="utf-8") == text, "stale: run `make docs`"


def test_writing_makes_both_files(tmp_path: Path) -> None:
    write_generated(tmp_path)
    assert (tmp_path / TOML_PATH).read_text(encoding="utf-8") == default_toml()
    assert (tmp_path / TABLE_PATH).read_text(encoding="utf-8") == option_tables()


def test_the_default_file_reads_back_as_the_defaults(tmp_path: Path) -> None:
    path = tmp_path / "foresight.toml"
    path.write_text(default_toml(), encoding="utf-8")
    assert load_config(path) == Config()


@pytest.mark.parametrize("key", list(options()), ids=".".join)
def test_every_option_stands_in_both_files(key: tuple[str, ...]) -> None:
    assert re.search(rf"^(# )?{key[-1]} = ", default_toml(), re.MULTILINE)
    assert f"| `{'.'.join(key)}` |" in option_tables()


@pytest.mark.parametrize("option", OPTIONAL, ids=lambda option: option.key[-1])
def test_a_commented_example_is_a_good_value(option: Option, tmp_path: Path) -> None:
    text = default_toml().replace(f"# {option.key[-1]} = ", f"{option.key[-1]} = ")
    if option.key[-1] == "list_khz":
        text = re.sub(r"^(min|max|step)_khz = .*$", "", text, flags=re.MULTILINE)
    path = tmp_path / "foresight.toml"
    path.write_text(text, encoding="utf-8")
    assert load_config(path) != Config()
