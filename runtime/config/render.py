"""Writes the commented `foresight.toml` and the option table of the docs from the schema.

`python -m runtime.config.render` (`make docs`) writes both files into the current folder.
"""

import textwrap
from pathlib import Path

from runtime.config.options import Option, Section, sections
from runtime.config.toml_text import toml_text

TOML_PATH = Path("foresight.toml")
TABLE_PATH = Path("docs") / "configuration.md"

_TOML_HEAD = """\
# Foresight: every option with its default. `foresight check FILE` validates a file.
# Generated from the schema by `make docs`; an option left out takes the value given here.
"""

_TABLE_HEAD = """\
# Configuration

<!-- Generated from the schema by `make docs`; do not edit. -->

Foresight reads one TOML file. Every option has a default, so an empty file is valid;
`foresight config` prints a commented file with all of them and `foresight check FILE` validates
one. `--set section.key=value` (repeatable) changes single options on the command line; the value
is written as in TOML, and a plain word may go without quotes.

An unknown key, a wrong type, a value out of range or values that contradict each other stop the
command with exit code 2 and one line that names the file, the key, the value and what is allowed:

```
foresight.toml: cost.alpha = -1: must be greater than 0
```
"""

_TABLE_TAIL = """\
## Options that must agree

- `executors.min` is at most `executors.max`, and `static-N` lies between them.
- `frequency.list_khz` stands alone, in ascending order; otherwise `frequency.step_khz` divides
  the range from `frequency.min_khz` to `frequency.max_khz` into at most 256 frequencies. A list
  given with `--set` replaces the range of the file.
- `limits.dead_time_s` is less than `horizon.steps` * `horizon.step_s`: a plan that ends before an
  executor can serve would never ask for one.
- `forecast.season_steps` needs a model with a season: `holt-winters` or `mixture`.
- With `forecast.risk = "cvar"`, one of the `forecast.scenarios` at least is beyond `slo.quantile`.
"""


def default_toml() -> str:
    """A valid file with every option, its meaning and its default."""
    return "\n".join([_TOML_HEAD, *(_toml_section(section) for section in sections())])


def option_tables() -> str:
    """The Markdown page with one table of options a section."""
    return "\n".join(
        [_TABLE_HEAD, *(_table_section(section) for section in sections()), _TABLE_TAIL]
    )


def write_generated(root: Path) -> None:
    for path, text in ((TOML_PATH, default_toml()), (TABLE_PATH, option_tables())):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text(text, encoding="utf-8")


def _toml_section(section: Section) -> str:
    lines = [f"# {section.description}", f"[{section.name}]"] if section.name else []
    for option in section.options:
        lines += _toml_option(option)
    return "\n".join([*lines, ""])


def _toml_option(option: Option) -> list[str]:
    facts = f"{option.description} {_facts(option)}"
    comment = textwrap.wrap(
        facts, 100, initial_indent="# ", subsequent_indent="# ", break_on_hyphens=False
    )
    name = option.key[-1]
    if option.absent is None:
        return [*comment, f"{name} = {toml_text(option.default)}"]
    return [*comment, f"# {name} = {toml_text(option.example)}"]


def _facts(option: Option) -> str:
    parts = [option.allowed[0].upper() + option.allowed[1:]]
    if option.unit is not None:
        parts.append(f"Unit: {option.unit}")
    if option.absent is not None:
        parts.append(f"Left out: {option.absent}")
    return ". ".join([*parts, ""]).rstrip()


def _table_section(section: Section) -> str:
    title = f"[{section.name}]" if section.name else "Top level"
    lines = [f"## {title}", ""]
    if section.name:
        lines += [section.description, ""]
    lines += ["| option | type and range | unit | default | meaning |", "|---|---|---|---|---|"]
    for option in section.options:
        default = (
            f"`{toml_text(option.default)}`" if option.absent is None else f"none: {option.absent}"
        )
        cells = (
            f"`{'.'.join(option.key)}`",
            option.allowed,
            option.unit or "",
            default,
            option.description,
        )
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    write_generated(Path.cwd())
