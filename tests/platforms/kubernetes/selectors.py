"""Label selectors of Kubernetes, as far as clients of pods use them. Pure."""

import re
from collections.abc import Mapping

_COMMA = re.compile(r",(?![^(]*\))")
"""Between two requirements; those within brackets are between values."""
_SET = re.compile(r"(\S+)\s+(in|notin)\s+\(([^)]*)\)")


def selects(selector: str | None, labels: Mapping[str, str]) -> bool:
    """Whether labels meet every requirement; no selector selects all."""
    requirements = _COMMA.split(selector) if selector else []
    return all(_meets(each.strip(), labels) for each in requirements)


def _meets(requirement: str, labels: Mapping[str, str]) -> bool:
    in_set = _SET.fullmatch(requirement)
    if in_set is not None:
        key, operator, values = in_set.groups()
        among = labels.get(key) in {value.strip() for value in values.split(",")}
        return among == (operator == "in")
    if "!=" in requirement:
        key, value = requirement.split("!=", 1)
        return labels.get(key) != value
    if "=" in requirement:
        key, value = requirement.replace("==", "=").split("=", 1)
        return labels.get(key) == value
    if requirement.startswith("!"):
        return requirement[1:] not in labels
    return requirement in labels
