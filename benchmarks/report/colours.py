"""The colour of a policy in charts, tables and pictures: a name of the style sheet."""

from collections.abc import Sequence

SERIES = ("blue", "vermillion", "green", "purple", "orange", "sky")
_FAMILIES = {
    "foresight": "blue",
    "lat-power": "vermillion",
    "lat-node": "green",
    "peak": "purple",
    "static": "purple",
    "rule-based": "orange",
    "spl": "sky",
    "oracle": "ink",
}


def family_colour(policy: str) -> str:
    """Relatives share one."""
    return next(
        (colour for prefix, colour in _FAMILIES.items() if policy.startswith(prefix)), "quiet"
    )


def distinct_colours(policies: Sequence[str]) -> dict[str, str]:
    """One colour each: that of the family, or a free one where a relative has it already."""
    chosen: dict[str, str] = {}
    for policy in policies:
        taken = set(chosen.values())
        own = family_colour(policy)
        free = [colour for colour in SERIES if colour not in taken]
        chosen[policy] = own if own not in taken else (free or ["quiet"])[0]
    return chosen
