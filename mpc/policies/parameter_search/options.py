"""`[policies.parameter-search]`. Defaults are those of Azimi Gehraz 2018, Table 5.10, and of the
implementation it compares with.
"""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import (
    Contradiction,
    PositiveSecondsInADay,
    Surroundings,
    ascending,
)


class ParameterSearchOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Utilisation thresholds, searched anew whenever the load changes."""

    min_breaches: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Fewest consecutive breaches of a threshold before a change.",
            extra={"unit": "steps"},
        ),
    ] = 2
    max_breaches: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Most consecutive breaches of a threshold before a change.",
            extra={"unit": "steps"},
        ),
    ] = 128
    breaches_step: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Increment of the search between min_breaches and max_breaches.",
            extra={"unit": "steps"},
        ),
    ] = 4
    confidence: Annotated[
        float,
        Meta(
            gt=0,
            lt=1,
            description="Accepted probability that the detector of load changes raises a false "
            "alarm.",
        ),
    ] = 0.5
    history_s: Annotated[
        PositiveSecondsInADay,
        Meta(description="Length of the history that candidate thresholds are tried on."),
    ] = 1200.0
    violation_executors: (
        Annotated[
            float,
            Meta(
                ge=0,
                description="Price of latency above the target, as a number of executors in use.",
                extra={"unit": "executors", "absent": "executors.max", "example": 24.0},
            ),
        ]
        | None
    ) = None
    evaluations: Annotated[
        int, Meta(ge=1, le=100_000, description="Candidate thresholds tried in one search.")
    ] = 200

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(
            surroundings, min_breaches=self.min_breaches, max_breaches=self.max_breaches
        )
