"""`[policies.parameter-search]`. Defaults are those of Azimi Gehraz 2018, Table 5.10, and of the
implementation it compares with.
"""

from collections.abc import Iterator

from mpc.options import (
    Contradiction,
    Options,
    PositiveSecondsInADay,
    Surroundings,
    ascending,
    option,
)


class ParameterSearchOptions(Options):
    """Utilisation thresholds, searched anew whenever the load changes."""

    min_breaches: int = option(
        2, "Fewest consecutive breaches of a threshold before a change.", "steps", ge=1, le=10_000
    )
    max_breaches: int = option(
        128, "Most consecutive breaches of a threshold before a change.", "steps", ge=1, le=10_000
    )
    breaches_step: int = option(
        4,
        "Increment of the search between min_breaches and max_breaches.",
        "steps",
        ge=1,
        le=10_000,
    )
    confidence: float = option(
        0.5,
        "Accepted probability that the detector of load changes raises a false alarm.",
        gt=0,
        lt=1,
    )
    history_s: PositiveSecondsInADay = option(
        1200.0, "Length of the history that candidate thresholds are tried on."
    )
    violation_executors: float | None = option(
        None,
        "Price of latency above the target, as a number of executors in use.",
        "executors",
        ge=0,
        absent="executors.max",
        example=24.0,
    )
    evaluations: int = option(200, "Candidate thresholds tried in one search.", ge=1, le=100_000)

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(
            surroundings, min_breaches=self.min_breaches, max_breaches=self.max_breaches
        )
