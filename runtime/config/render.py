"""Writes a schema out: as a commented TOML file, and as the option tables of a page."""

import textwrap

import msgspec

from runtime.config.options import Option, Section, sections
from runtime.config.toml_text import toml_text


def commented_toml(schema: type[msgspec.Struct], head: str) -> str:
    """A valid file with every option, its meaning and its default."""
    parts = (_toml_section(section) for section in sections(schema) if section.options)
    return "\n".join([head, *parts])


def option_tables(schema: type[msgspec.Struct], head: str, tail: str) -> str:
    """The Markdown page with one table of options a section."""
    parts = (_table_section(section) for section in sections(schema) if section.options)
    return "\n".join([head, *parts, tail])


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
