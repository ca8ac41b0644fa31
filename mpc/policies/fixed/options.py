"""Options of `peak`, which has none, and of `static-N`, which come with its name: `static-3` keeps
three executors.
"""

from collections.abc import Iterator

from mpc.options import Contradiction, Options, Surroundings, option


class PeakOptions(Options):
    """Every executor at the highest frequency throughout."""


class StaticOptions(Options):
    """The same number of executors throughout."""

    executors: int = option(1, "Executors to keep.", ge=1)

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
