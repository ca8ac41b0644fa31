"""`[policies.spark-ratio]`. Defaults are those of Azimi Gehraz 2018, Table 5.10."""

from collections.abc import Iterator
from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import Contradiction, PositiveSecondsInAnHour, Surroundings, ascending


class SparkRatioOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The ratio of processing time to batch interval, as Spark Streaming scaled itself."""

    batch_interval_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=3600,
                description="Trigger interval of the query.",
                extra={"unit": "s", "absent": "the control step", "example": 10.0},
            ),
        ]
        | None
    ) = None
    scaling_interval_s: Annotated[
        PositiveSecondsInAnHour, Meta(description="Time between two decisions.")
    ] = 60.0
    upper: Annotated[
        float,
        Meta(
            gt=0,
            le=10,
            description="Ratio of processing time to batch interval from which executors are "
            "added.",
        ),
    ] = 0.6
    lower: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="Ratio of processing time to batch interval up to which an executor is "
            "removed.",
        ),
    ] = 0.3

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(surroundings, lower=self.lower, upper=self.upper)
