"""Manifests as YAML that people like to read and that no parser misreads.

Parsers disagree about words such as `yes` or `1e3`, so text is written plainly only where it looks
like a name or a path; several lines become a literal block.
"""

import re
import sys
from collections.abc import Mapping, Sequence

import yaml

Value = str | int | bool | Sequence["Value"] | Mapping[str, "Value"]

# Begins with a letter or a slash and holds no sign that means anything to YAML.
_PLAIN = re.compile(r"[A-Za-z/][A-Za-z0-9_./-]*")
# Booleans and null of YAML 1.1 and 1.2, and what would be a number: .inf cannot begin a plain one.
_WORDS = frozenset({"true", "false", "yes", "no", "on", "off", "y", "n", "null"})


class _ManifestDumper(yaml.SafeDumper):
    """Writes equal labels twice: nobody reads anchors in a manifest."""

    def ignore_aliases(self, _: object) -> bool:
        return True


def _text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"'
    if "\n" in text:
        style = "|"
    elif _PLAIN.fullmatch(text) and text.lower() not in _WORDS:
        style = ""
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style)


_ManifestDumper.add_representer(str, _text)


def yaml_documents(documents: Sequence[Mapping[str, Value]]) -> str:
    """One stream, with a line of dashes before every document."""
    return _written(documents, explicit_start=True)


def yaml_text(document: Mapping[str, Value]) -> str:
    """One document alone."""
    return _written([document], explicit_start=False)


def _written(documents: Sequence[Mapping[str, Value]], explicit_start: bool) -> str:
    return yaml.dump_all(
        documents,
        Dumper=_ManifestDumper,
        sort_keys=False,
        allow_unicode=True,
        explicit_start=explicit_start,
        width=sys.maxsize,
    )
