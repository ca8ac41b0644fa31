"""Options of `peak`, which has none, and of `static-N`, which come with its name: `static-3` keeps
three executors.
"""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import Contradiction, Surroundings


class PeakOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Every executor at the highest frequency throughout."""


class StaticOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The same number of executors throughout."""

    executors: Annotated[int, Meta(ge=1, description="Executors to keep.")] = 1

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        name, count = surroundings.policy, self.executors
        low, high = surroundings.min_executors, surroundings.max_executors
        if count > high:
            yield (
                (("policy",), f"must keep at most executors.max = {high} executors"),
                (("executors", "max"), f'must be at least {count} with policy = "{name}"'),
            )
        if count < low:
            yield (
                (("policy",), f"must keep at least executors.min = {low} executors"),
                (("executors", "min"), f'must be at most {count} with policy = "{name}"'),
            )
