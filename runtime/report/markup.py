"""Builds HTML and SVG as text in which everything is escaped unless it is markup already.

The output is well-formed XML and valid HTML at once, so one parser of the standard library can
check all of it.
"""

import math
from collections.abc import Sequence
from html import escape

VOID_ELEMENTS = frozenset({"meta", "col"})
"""HTML elements without an end tag."""

Attribute = str | int | float | None


class Markup(str):
    """Text that is markup and must not be escaped again."""

    __slots__ = ()


def element(name: str, /, *children: str, **attributes: Attribute) -> Markup:
    """`<name …>children</name>`; `stroke_width` becomes `stroke-width`, `class_` becomes `class`.

    Attributes that are None are left out.
    """
    words = [name]
    for key, value in attributes.items():
        if value is not None:
            written = value if isinstance(value, str) else number(value)
            words.append(f'{key.rstrip("_").replace("_", "-")}="{escape(written)}"')
    if name in VOID_ELEMENTS:
        return Markup(f"<{' '.join(words)} />")
    return Markup(f"<{' '.join(words)}>{join(children)}</{name}>")


def join(parts: Sequence[str], separator: str = "") -> Markup:
    """The parts one after the other; those that are plain text escaped."""
    return Markup(
        separator.join(
            part if isinstance(part, Markup) else escape(part, quote=False) for part in parts
        )
    )


def number(value: float) -> str:
    """A coordinate: two decimals are a fiftieth of a pixel on any screen."""
    if not math.isfinite(value):
        raise ValueError(f"a coordinate must be finite, got {value}")
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in {"-0", ""} else text
