"""A report as one self-contained page: its charts' data and the script that draws them inside.

Nothing is loaded from anywhere, so it opens from a file, and there is no date in it, so the same
content gives the same bytes. The page is well-formed XML too.
"""

import re
from collections.abc import Sequence
from importlib.resources import files

import msgspec

from runtime.report.charts import Drawing
from runtime.report.markup import Markup, element

_SCRIPTS = ("format.js", "scale.js", "chart.js", "scatter.js", "report.js")
_STYLES = ("chart.css", "report.css")
_IMPORT = re.compile(r"^import [^;]*;\n", re.MULTILINE)
_EXPORT = re.compile(r"^export ", re.MULTILINE)


def document(title: str, body: Sequence[str], drawing: Drawing) -> str:
    """A whole page; charts appear in the elements with the ids `charts` and `scatter`."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("title", title),
        element("style", Markup("\n".join(_asset(name) for name in _STYLES))),
    )
    data = element("script", _json(drawing), type="application/json", id="drawing")
    script = element("script", _script(), type="module")
    page = element("html", head, element("body", element("main", *body), data, script), lang="en")
    return f"<!DOCTYPE html>\n{page}\n"


def place_of_charts() -> Markup:
    return element("div", id="charts")


def place_of_scatter() -> Markup:
    return element("div", id="scatter")


def _json(drawing: Drawing) -> Markup:
    text = msgspec.json.encode(drawing).decode()
    # Inside a script element neither HTML nor XML may see a tag or an entity.
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _script() -> Markup:
    """The modules as one: their names do not clash, so imports between them can go."""
    modules = (_EXPORT.sub("", _IMPORT.sub("", _asset(name))) for name in _SCRIPTS)
    return Markup("//<![CDATA[\n" + "\n".join(modules) + "//]]>\n")


def _asset(name: str) -> str:
    return (files("runtime.web") / "assets" / name).read_text(encoding="utf-8")
