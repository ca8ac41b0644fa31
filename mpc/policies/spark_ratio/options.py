"""`[policies.spark-ratio]`. Defaults are those of Azimi Gehraz 2018, Table 5.10."""

from collections.abc import Iterator

from mpc.options import (
    Contradiction,
    Options,
    PositiveSecondsInAnHour,
    Surroundings,
    ascending,
    option,
)


class SparkRatioOptions(Options):
    """The ratio of processing time to batch interval, as Spark Streaming scaled itself."""

    batch_interval_s: PositiveSecondsInAnHour | None = option(
        None,
        "Trigger interval of the query.",
        absent="as measured; the control step where there is none",
        example=10.0,
    )
    scaling_interval_s: PositiveSecondsInAnHour = option(60.0, "Time between two decisions.")
    upper: float = option(
        0.6,
        "Ratio of processing time to batch interval from which executors are added.",
        gt=0,
        le=10,
    )
    lower: float = option(
        0.3,
        "Ratio of processing time to batch interval up to which an executor is removed.",
        ge=0,
        le=10,
    )

    def contradictions(self, surroundings: Surroundings) -> Iterator[Contradiction]:
        yield from ascending(surroundings, lower=self.lower, upper=self.upper)
