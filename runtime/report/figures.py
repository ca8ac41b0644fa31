"""A chart over time with its caption, and the data that the pointer reads out."""

import json
import math
from collections.abc import Sequence

from runtime.report.frame import Frame
from runtime.report.markup import Markup, element, join
from runtime.report.panel import Panel, panel_svg

READ_OUT_POINTS = 1_000
"""Values a line keeps for reading out under the pointer; longer runs are read every few steps."""

WIDE = Frame(1000, 230, left=52, right=136, top=14, bottom=44)
NARROW = Frame(380, 220, left=40, right=30, top=14, bottom=44)


def figure(panel: Panel, step_s: float, remark: str) -> Markup:
    return element(
        "figure",
        element(
            "figcaption",
            element("strong", panel.title),
            join([" ", element("span", f"{panel.unit}, {panel.made}", class_="unit"), " "]),
            element("output", class_="read-out"),
            *([element("span", remark, class_="remark")] if remark else []),
        ),
        element("div", panel_svg(panel, step_s, WIDE), class_="wide"),
        element("div", panel_svg(panel, step_s, NARROW), class_="narrow"),
        data_panel=panel.key,
    )


def read_out(shown: Sequence[Panel], step_s: float) -> Markup:
    steps = max(len(line.values) for panel in shown for line in panel.lines)
    stride = max(1, math.ceil(steps / READ_OUT_POINTS))
    document = {
        "steps": steps,
        "step_s": step_s,
        "stride": stride,
        "panels": {
            panel.key: [
                {"name": line.label, "values": [_short(v) for v in line.values[::stride]]}
                for line in panel.lines
            ]
            for panel in shown
        },
    }
    text = json.dumps(document, separators=(",", ":"), allow_nan=False)
    # Inside a script element neither HTML nor XML may see a tag or an entity.
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _short(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else float(f"{value:.4g}")
