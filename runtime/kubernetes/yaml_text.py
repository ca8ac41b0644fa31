"""Writes manifests as YAML that people like to read, without a library.

Only what manifests need: mappings, lists, text, integers, booleans. Text that any YAML parser could
take for something else is quoted as JSON, which is YAML; several lines become a literal block.
"""

import json
import re
from collections.abc import Mapping, Sequence

Value = str | int | bool | Sequence["Value"] | Mapping[str, "Value"]

# Begins with a letter or a slash and holds no sign that means anything to YAML.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
# Booleans and null of YAML 1.1 and 1.2, and what would be a number: .inf cannot begin a plain one.
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})


def yaml_documents(documents: Sequence[Mapping[str, Value]]) -> str:
    """One stream, with a line of dashes before every document."""
    return "".join("---\n" + "".join(_mapping(document, 0)) for document in documents)


def _mapping(mapping: Mapping[str, Value], depth: int) -> list[str]:
    lines = []
    for key, value in mapping.items():
        lines += _entry(f"{'  ' * depth}{_text(key)}:", value, depth)
    return lines


def _entry(head: str, value: Value, depth: int) -> list[str]:
    """What stands behind `key:` or `-`, on the same line where it is short."""
    if isinstance(value, str) and _is_block(value):
        indent = "  " * (depth + 1)
        body = [f"{indent}{line}\n" if line else "\n" for line in value[:-1].split("\n")]
        return [f"{head} |\n", *body]
    if isinstance(value, Mapping) and value:
        return [f"{head}\n", *_mapping(value, depth + 1)]
    if isinstance(value, Sequence) and not isinstance(value, str) and value:
        lines = [f"{head}\n"]
        for item in value:
            lines += _item(item, depth + 1)
        return lines
    return [f"{head} {_scalar(value)}\n"]


def _item(item: Value, depth: int) -> list[str]:
    dash = f"{'  ' * depth}-"
    if isinstance(item, Mapping) and item:
        first, *rest = _mapping(item, depth + 1)
        return [f"{dash} {first.lstrip(' ')}", *rest]
    return _entry(dash, item, depth)


def _scalar(value: Value) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str):
        return _text(value)
    return "{}" if isinstance(value, Mapping) else "[]"


def _text(text: str) -> str:
    if _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        return text
    # A character that JSON leaves and YAML may not becomes an escape of both; all beyond 16 bits
    # stand for themselves.
    return "".join(
        letter if letter.isprintable() or letter > "\uffff" else f"\\u{ord(letter):04x}"
        for letter in json.dumps(text, ensure_ascii=False)
    )


def _is_block(text: str) -> bool:
    """Lines of visible text; the first one not indented, which would set the indentation."""
    lines = text[:-1].split("\n")
    return (
        text.endswith("\n")
        and not text.endswith("\n\n")
        and all(line.isprintable() for line in lines)
        and lines[0] != ""
        and not lines[0].startswith(" ")
    )
