"""`[policies.rule-based]`. Defaults are those of the code of De Matteis and Mencagli 2016."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import Contradiction, Surroundings, ascending


class RuleBasedOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """One executor more when latency is too high, one fewer when it is low."""

    upper: Annotated[
        float,
        Meta(
            gt=0,
            le=100,
            description="Latency, as a share of the target, above which an executor is added.",
        ),
    ] = 1.1
    lower: Annotated[
        float,
        Meta(
            ge=0,
            le=100,
            description="Latency, as a share of the target, below which an executor is removed.",
        ),
    ] = 0.7

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(surroundings, lower=self.lower, upper=self.upper)
