"""`[policies.decentralised]`. Defaults are those of Belkhiria and Tedeschi 2019, section 5.1."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import Contradiction, PositiveShare, Surroundings, ascending


class DecentralisedOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Every executor decides for itself by its own load; the sum is the target."""

    target_load: Annotated[
        PositiveShare,
        Meta(
            description="Desired load of an executor as a share of its capacity, between "
            "lower_load and upper_load."
        ),
    ] = 0.7
    upper_load: Annotated[
        float,
        Meta(
            gt=0,
            description="Load, as a share of its capacity, from which an executor may duplicate "
            "itself.",
        ),
    ] = 0.8
    lower_load: Annotated[
        float,
        Meta(
            gt=0,
            description="Load, as a share of its capacity, up to which an executor may remove "
            "itself.",
        ),
    ] = 0.6
    period_steps: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Steps between two decisions of one executor.",
            extra={"unit": "steps"},
        ),
    ] = 5
    capacity_per_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                description="Items that one executor can process per second.",
                extra={"unit": "items/s", "absent": "measured", "example": 500.0},
            ),
        ]
        | None
    ) = None

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(
            surroundings,
            lower_load=self.lower_load,
            target_load=self.target_load,
            upper_load=self.upper_load,
        )
