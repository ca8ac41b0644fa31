"""What the options of all policies share: types, and the form of a rule between several options.

Options only, without numpy: reading a configuration must not import what decides.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise
from typing import Annotated

from msgspec import Meta

DAY_S = 86_400.0

SecondsInADay = Annotated[float, Meta(ge=0, le=DAY_S, extra={"unit": "s"})]
PositiveSecondsInADay = Annotated[float, Meta(gt=0, le=DAY_S, extra={"unit": "s"})]
SecondsInAnHour = Annotated[float, Meta(ge=0, le=3600, extra={"unit": "s"})]
PositiveSecondsInAnHour = Annotated[float, Meta(gt=0, le=3600, extra={"unit": "s"})]
Share = Annotated[float, Meta(ge=0, le=1)]
PositiveShare = Annotated[float, Meta(gt=0, le=1)]

Key = tuple[str, ...]
Contradiction = tuple[tuple[Key, str], ...]
"""Options in conflict, the likeliest culprit first, each with what it must be."""

Discount = Annotated[
    float,
    Meta(ge=0, le=0.999, description="Weight of a cost one step later, relative to the same now."),
]
ResourceWeight = Annotated[
    float,
    Meta(
        ge=0,
        le=1_000_000,
        description="Cost of running all executors for one step. Only the ratio of the weights "
        "matters.",
    ),
]
ReconfigurationWeight = Annotated[
    float,
    Meta(
        ge=0,
        le=1_000_000,
        description="Cost of changing the number of executors. Only the ratio of the weights "
        "matters.",
    ),
]


@dataclass(frozen=True, slots=True)
class Surroundings:
    """What a rule between options may refer to besides the options themselves."""

    policy: str
    """Name of the policy that the options belong to."""
    latency_ms: float
    """The target."""
    min_executors: int
    max_executors: int

    def key(self, option: str) -> Key:
        return ("policies", self.policy, option)


def ascending(surroundings: Surroundings, **options: float) -> Iterator[Contradiction]:
    """The named options must not descend, in the order they are given."""
    named = [(surroundings.key(name), value) for name, value in options.items()]
    for (low_key, low), (high_key, high) in pairwise(named):
        if low > high:
            yield at_most(low_key, low, high_key, high)


def at_most(low_key: Key, low: float, high_key: Key, high: float) -> Contradiction:
    return (
        (low_key, f"must be at most {'.'.join(high_key)} = {high:g}"),
        (high_key, f"must be at least {'.'.join(low_key)} = {low:g}"),
    )
