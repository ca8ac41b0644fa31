"""Values and keys written as TOML on one line, for messages, `foresight.toml` and the docs.

Whole files without comments of their own are written by `toml_document`.
"""

import json
import re
from collections.abc import Mapping, Sequence

import tomli_w

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_LONGEST = 60


def toml_text(value: object) -> str:
    """The value as a TOML value; text is quoted, so no value spans two lines."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, str):
        # JSON escapes are a subset of the escapes of a TOML basic string.
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, list | tuple):
        return f"[{', '.join(toml_text(item) for item in value)}]"
    if isinstance(value, Mapping):
        pairs = ", ".join(f"{key_text((str(k),))} = {toml_text(v)}" for k, v in value.items())
        return f"{{{pairs}}}"
    if isinstance(value, int) and value.bit_length() > _LONGEST:
        return hex(value)  # Python refuses to write very long integers in decimal
    return str(value)


def value_text(value: object) -> str:
    """The value as TOML, shortened for a message."""
    text = toml_text(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 1]}…"


def key_text(key: tuple[str, ...]) -> str:
    """A dotted key; parts that TOML would not take bare are quoted."""
    return ".".join(
        part if _BARE_KEY.fullmatch(part) else json.dumps(part, ensure_ascii=False) for part in key
    )


def toml_document(table: Mapping[str, object], head: Sequence[str] = ()) -> str:
    """A whole file below comment lines; options without a value are left out."""
    comment = "".join(f"# {line}\n" for line in head)
    body = tomli_w.dumps(_without_none(table))
    return f"{comment}\n{body}" if comment and body else comment + body


def _without_none(table: Mapping[str, object]) -> dict[str, object]:
    given = {
        name: _without_none(value) if isinstance(value, Mapping) else value
        for name, value in table.items()
        if value is not None
    }
    return {name: value for name, value in given.items() if value != {} or table[name] == {}}
