"""Reads any of our TOML files, and `--set` overrides, into its struct; refuses what it cannot use.

The controller and the agent each have a schema; this is all they share. The first mistake is
reported, in the order of the file, as one `ConfigError` line.
"""

import difflib
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NoReturn, TypeVar

import msgspec

from mpc.options import Contradiction, Key
from runtime.config.options import options, sections
from runtime.config.toml_text import key_text, value_text

OVERRIDE = "--set"
_OVERRIDE_KEY = re.compile(r"[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*")
# A shell eats the quotes of `forecast.model="holt"`, so a word, a path or an IP address that is no
# TOML value is text.
_BARE_WORD = re.compile(r"[A-Za-z][A-Za-z0-9_-]*|/[A-Za-z0-9_./-]*|[0-9]+(\.[0-9]+){3}")

Given = dict[Key, tuple[str, object]]
"""What the user wrote: key to (where it was written, value)."""
Schema = TypeVar("Schema", bound=msgspec.Struct)


class ConfigError(Exception):
    """A file, a key or a value that cannot be used: where it stands and what is allowed."""

    def __init__(self, *parts: str) -> None:
        super().__init__(": ".join(parts))

    @classmethod
    def of_value(cls, source: str, key: tuple[str, ...], value: object, must: str) -> "ConfigError":
        return cls(source, f"{key_text(key)} = {value_text(value)}", must)


def read_strictly(
    schema: type[Schema],
    path: str | Path | None,
    overrides: Sequence[str],
    contradictions: Callable[[Schema], Iterable[Contradiction]],
    settle: Callable[[Given], Given] = lambda given: given,
) -> Schema:
    """The file (None: all defaults), changed by `section.key=value`s, as a valid struct.

    `settle` may drop keys that others replace, before the values are put together. Raises
    `ConfigError`, one line, for anything unreadable, unknown, out of range or contradictory.
    """
    given: Given = {}
    if path is not None:
        for key, value in _leaves(schema, _read(Path(path)), str(path)):
            given[key] = (str(path), value)
    for override in overrides:
        for key, value in _leaves(schema, _parse_override(override), OVERRIDE):
            given[key] = (OVERRIDE, value)
    for key, (source, value) in given.items():
        mistake = options(schema)[key].mistake(value)
        if mistake is not None:
            raise ConfigError.of_value(source, key, value, mistake)
    config = msgspec.convert(_nested(settle(given)), schema)
    for contradiction in contradictions(config):
        _refuse(contradiction, given)
    return config


def _read(path: Path) -> dict[str, object]:
    try:
        text = path.read_bytes().decode("utf-8")
    except FileNotFoundError:
        raise ConfigError(str(path), "no such file") from None
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise ConfigError(str(path), f"line {line}", "must be UTF-8 text") from None
    except OSError as error:
        raise ConfigError(str(path), "cannot be read", error.strerror or str(error)) from None
    # TOML has no bare carriage return; like a file opened as text, count CRLF as one line end.
    text = text.replace("\r\n", "\n")
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(str(path), *_place(str(error), text)) from None
    except RecursionError:
        raise ConfigError(str(path), "must not be nested so deeply") from None
    except ValueError:  # Python reads no integer of more than 4300 digits
        raise ConfigError(str(path), "must not hold an integer of thousands of digits") from None


def _place(message: str, text: str) -> tuple[str, str]:
    """Line and column first, then the words of the parser."""
    found = re.fullmatch(r"(.*) \(at line (\d+), column (\d+)\)", message, re.DOTALL)
    if found is not None:
        words, line, column = found.group(1), int(found.group(2)), int(found.group(3))
    else:
        words = message.removesuffix(" (at end of document)")
        line = text.count("\n") + 1
        column = len(text) - (text.rfind("\n") + 1) + 1
    return f"line {line}, column {column}", words[:1].lower() + words[1:]


def _parse_override(override: str) -> dict[str, object]:
    """`section.key=value` as the table it would be in a file."""
    key, equals, text = (part.strip() for part in override.partition("="))
    if not equals or not _OVERRIDE_KEY.fullmatch(key):
        raise ConfigError(OVERRIDE, value_text(override), "must be written section.key=value")
    try:
        value = _parse_value(text)
    except (ValueError, RecursionError):
        if not _BARE_WORD.fullmatch(text):
            must = 'must be one TOML value, such as 3, 0.5, "power" or [1, 2]'
            raise ConfigError.of_value(OVERRIDE, tuple(key.split(".")), text, must) from None
        value = text
    *parents, name = key.split(".")
    table: dict[str, object] = {name: value}
    for parent in reversed(parents):
        table = {parent: table}
    return table


def _parse_value(text: str) -> object:
    parsed = tomllib.loads(f"value = {text}")
    if len(parsed) != 1:
        raise ValueError("more than one value")
    return parsed["value"]


def _leaves(
    schema: type[msgspec.Struct], table: Mapping[str, object], source: str, above: Key = ()
) -> Iterator[tuple[Key, object]]:
    """Every key of the file with its value; unknown keys and sections are refused."""
    for name, value in table.items():
        key = (*above, name)
        if key in options(schema):
            yield key, value
        elif key not in _tables(schema):
            _refuse_unknown(schema, key, value, source)
        elif not isinstance(value, Mapping):
            raise ConfigError.of_value(source, key, value, "must be a table")
        else:
            yield from _leaves(schema, value, source, key)


def _tables(schema: type[msgspec.Struct]) -> tuple[Key, ...]:
    return tuple(tuple(section.name.split(".")) for section in sections(schema) if section.name)


def _refuse_unknown(schema: type[msgspec.Struct], key: Key, value: object, source: str) -> NoReturn:
    closest = _closest(schema, key)
    if closest is not None:
        hint = f"unknown key, did you mean {closest}?"
    else:
        hint = f"unknown key, must be one of {', '.join(_siblings(schema, key))}"
    raise ConfigError.of_value(source, key, value, hint)


def _siblings(schema: type[msgspec.Struct], key: Key) -> list[str]:
    """What may stand where the key does: options first, then tables."""
    known = (*options(schema), *_tables(schema))
    return [other[-1] for other in known if other[:-1] == key[:-1]]


def _closest(schema: type[msgspec.Struct], key: Key) -> str | None:
    """The known key the user most likely meant, or None."""
    known = [".".join(option) for option in options(schema)]
    elsewhere = next((text for text in known if text.split(".")[-1] == key[-1]), None)
    if len(key) == 1 and key[0] in known:  # a quoted "cost.alpha"
        return key[0]
    similar = difflib.get_close_matches(key[-1], _siblings(schema, key), 1)
    near = ".".join((*key[:-1], similar[0])) if similar else None
    return elsewhere or near if len(key) == 1 else near or elsewhere


def _nested(given: Given) -> dict[str, object]:
    top: dict[str, object] = {}
    for (*parents, name), (_, value) in given.items():
        table: dict[str, Any] = top
        for parent in parents:
            table = table.setdefault(parent, {})
        table[name] = value
    return top


def _refuse(contradiction: Contradiction, given: Given) -> NoReturn:
    """Blame what the user wrote last: an override before the file, never a default."""
    written = [(key, must) for key, must in contradiction if key in given]
    key, must = next(
        (pair for pair in written if given[pair[0]][0] == OVERRIDE),
        written[0],
    )
    source, value = given[key]
    raise ConfigError.of_value(source, key, value, must)
