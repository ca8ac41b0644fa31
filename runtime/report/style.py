"""Colours and style sheets; the palette is that of Okabe and Ito, safe for colour-blind readers.

Charts name their colours by class only, so that one drawing serves light, dark and paper.
"""

from collections.abc import Mapping, Sequence

LIGHT = {
    "page": "#ffffff",
    "raised": "#f6f7f9",
    "ink": "#1a1f26",
    "quiet": "#5b6672",
    "rule": "#d9dee4",
    "faint": "#eceff2",
    "blue": "#0067a5",
    "vermillion": "#c75200",
    "green": "#00805d",
    "purple": "#a8568a",
    "orange": "#9a6b00",
    "sky": "#2f86b8",
}
DARK = {
    "page": "#14181d",
    "raised": "#1c2229",
    "ink": "#e8ecf0",
    "quiet": "#9aa6b2",
    "rule": "#3a434d",
    "faint": "#262d35",
    "blue": "#5db8f0",
    "vermillion": "#ff8f4d",
    "green": "#3ecf9f",
    "purple": "#e0a3c8",
    "orange": "#f0b93c",
    "sky": "#8fd0ee",
}
SERIES = ("blue", "vermillion", "green", "purple", "orange", "sky")

FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif'


def family_colour(policy: str) -> str:
    """The colour of a policy; relatives share one."""
    families = {
        "foresight": "blue",
        "lat-power": "vermillion",
        "lat-node": "green",
        "peak": "purple",
        "static": "purple",
        "rule-based": "orange",
        "spl": "sky",
        "oracle": "ink",
    }
    for prefix, colour in families.items():
        if policy.startswith(prefix):
            return colour
    return "quiet"


def distinct_colours(policies: Sequence[str]) -> dict[str, str]:
    """One colour each: that of the family, or a free one where a relative has it already."""
    chosen: dict[str, str] = {}
    for policy in policies:
        taken = set(chosen.values())
        own = family_colour(policy)
        free = [colour for colour in SERIES if colour not in taken]
        chosen[policy] = own if own not in taken else (free or ["quiet"])[0]
    return chosen


def chart_css(colours: Mapping[str, str]) -> str:
    """The classes that charts use, with these colours (values or `var(--name)`)."""
    series = "\n".join(
        f".line.{name}, .mark.{name}, .leader.{name} {{ stroke: {value}; }}\n"
        f".dot.{name}, .name.{name} {{ fill: {value}; }}"
        for name in (*SERIES, "ink", "quiet")
        for value in (colours[name],)
    )
    return f"""
svg text {{ font-family: {FONT}; font-size: 12px; fill: {colours["quiet"]};
  font-variant-numeric: tabular-nums; }}
svg .title {{ font-size: 14px; font-weight: 600; fill: {colours["ink"]}; }}
svg .caption {{ font-weight: 600; fill: {colours["ink"]}; }}
svg .name {{ font-weight: 600; }}
svg .halo {{ paint-order: stroke; stroke: {colours["page"]}; stroke-width: 3px;
  stroke-linejoin: round; }}
svg .small {{ font-size: 11px; font-weight: 400; }}
.end {{ text-anchor: end; }}
.middle {{ text-anchor: middle; }}
.grid {{ stroke: {colours["faint"]}; stroke-width: 1; }}
.axis {{ stroke: {colours["rule"]}; stroke-width: 1; }}
.line {{ fill: none; stroke-width: 1.5; stroke-linejoin: round; stroke-linecap: round; }}
.line.strong {{ stroke-width: 2.25; }}
.area {{ fill: {colours["quiet"]}; fill-opacity: 0.16; stroke: none; }}
.limit {{ fill: none; stroke: {colours["quiet"]}; stroke-width: 1.25; stroke-dasharray: 5 4; }}
.beyond {{ fill: {colours["quiet"]}; fill-opacity: 0.10; stroke: none; }}
.mark {{ stroke-width: 1.5; }}
.leader {{ stroke-width: 0.75; opacity: 0.6; }}
.dot {{ stroke: {colours["page"]}; stroke-width: 1.5; }}
.cursor {{ stroke: {colours["ink"]}; stroke-width: 1; opacity: 0; }}
{series}
"""
