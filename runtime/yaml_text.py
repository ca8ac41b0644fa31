"""Documents from YAML templates, and as YAML that people like to read and no parser misreads.

Parsers disagree about words such as `yes` or `1e3`, so text is written plainly only where it looks
like a name or a path; several lines become a literal block.
"""

import re
import sys
from collections.abc import Mapping, Sequence

import yaml

Value = str | int | bool | Sequence["Value"] | Mapping[str, "Value"]
Fillings = Mapping[str, Value | None]

_PLACEHOLDER = re.compile(r"\$\{(\w+)\}")

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
    return yaml.dump_all(
        documents,
        Dumper=_ManifestDumper,
        sort_keys=False,
        allow_unicode=True,
        explicit_start=True,
        width=sys.maxsize,
    )


def filled_documents(text: str, fillings: Fillings) -> list[dict[str, Value]]:
    """The documents of a template.

    `${name}` alone becomes the value of that name, within other text its text. What has None there
    is left out, as is a mapping with `when: name` if that is None. A list within a list is put in
    item by item. What fills a placeholder is not looked at again.
    """
    return [_mapping(document, fillings) for document in yaml.safe_load_all(text)]


def _mapping(part: Mapping[str, Value], fillings: Fillings) -> dict[str, Value]:
    filled = {key: _filled(value, fillings) for key, value in part.items() if key != "when"}
    return {key: value for key, value in filled.items() if value is not None}


def _filled(part: Value, fillings: Fillings) -> Value | None:
    if isinstance(part, Mapping):
        condition = part.get("when")
        wanted = condition is None or fillings[str(condition)] is not None
        return _mapping(part, fillings) if wanted else None
    if not isinstance(part, str):
        return _list(part, fillings) if isinstance(part, Sequence) else part
    if whole := _PLACEHOLDER.fullmatch(part):
        return fillings[whole[1]]
    return _PLACEHOLDER.sub(lambda found: str(fillings[found[1]]), part)


def _list(part: Sequence[Value], fillings: Fillings) -> list[Value] | None:
    items: list[Value] = []
    for item in (_filled(each, fillings) for each in part):
        if isinstance(item, Sequence) and not isinstance(item, str):
            items.extend(item)
        elif item is not None:
            items.append(item)
    return items if items or not part else None
