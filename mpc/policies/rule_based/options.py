"""`[policies.rule-based]`. Defaults are those of the code of De Matteis and Mencagli 2016."""

from collections.abc import Iterator

from mpc.options import Contradiction, Options, Surroundings, ascending, option


class RuleBasedOptions(Options):
    """One executor more when latency is too high, one fewer when it is low."""

    upper: float = option(
        1.1, "Latency, as a share of the target, above which an executor is added.", gt=0, le=100
    )
    lower: float = option(
        0.7, "Latency, as a share of the target, below which an executor is removed.", ge=0, le=100
    )

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(surroundings, lower=self.lower, upper=self.upper)
