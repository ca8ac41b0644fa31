"""`[policies.decentralised]`. Defaults are those of Belkhiria and Tedeschi 2019, section 5.1."""

from collections.abc import Iterator

from mpc.options import Contradiction, Options, PositiveShare, Surroundings, ascending, option


class DecentralisedOptions(Options):
    """Every executor decides for itself by its own load; the sum is the target."""

    target_load: PositiveShare = option(
        0.7,
        "Desired load of an executor as a share of its capacity, between lower_load and "
        "upper_load.",
    )
    upper_load: float = option(
        0.8, "Load, as a share of its capacity, from which an executor may duplicate itself.", gt=0
    )
    lower_load: float = option(
        0.6, "Load, as a share of its capacity, up to which an executor may remove itself.", gt=0
    )
    period_steps: int = option(
        5, "Steps between two decisions of one executor.", "steps", ge=1, le=1000
    )
    capacity_per_s: float | None = option(
        None,
        "Items that one executor can process per second.",
        "items/s",
        gt=0,
        absent="measured",
        example=500.0,
    )

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(
            surroundings,
            lower_load=self.lower_load,
            target_load=self.target_load,
            upper_load=self.upper_load,
        )
