"""Makes the latency of a query exact: Spark reports the event times of every batch with it.

What is observed is when rows came into being, not how old they are: observed metrics are evaluated
while a row passes, long before its batch is committed, and `current_timestamp()` is one constant
for a whole batch. The sensor subtracts the event times from the moment of the commit instead. It
needs one count, one mean, one minimum and the event times at fixed shares of the rows per batch,
which tell after the commit how many rows came into being too early for it, whatever the target; no
row is changed, added or removed.
"""

from typing import Literal

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as sql
from pyspark.sql.types import DataType, NumericType, TimestampNTZType, TimestampType

from runtime.spark.sensing.progress import EVENT_TIME_LEVELS, LATENCY_METRIC

EpochUnit = Literal["s", "ms", "us"]
_ACCURACY = 2_000
"""Ranks are off by one in so many rows at most, far less than the levels are apart."""
_PER_SECOND: dict[EpochUnit, float] = {"s": 1.0, "ms": 1e3, "us": 1e6}


class NotATime(TypeError):
    """The column given to `observe` does not hold points in time."""


def observe(
    frame: DataFrame, column: str, *, unit: EpochUnit | None = None, label: str | None = None
) -> DataFrame:
    """The same streaming frame, with the event times in `column` reported to the sensor.

    The column is a timestamp, or a number since 1970 in `unit`: when a row came into being, on a
    clock that agrees with the driver's, since any difference is part of the latency. Rows of the
    past that are replayed need the time of their replay. A query that observes several frames needs
    a `label` for each but one.
    """
    epoch_s = _epoch_s(frame, column, unit)
    name = LATENCY_METRIC if label is None else f"{LATENCY_METRIC}_{label}"
    return frame.observe(
        name,
        sql.count(epoch_s).alias("rows"),
        sql.avg(epoch_s).alias("mean_epoch_s"),
        sql.min(epoch_s).alias("first_epoch_s"),
        sql.percentile_approx(epoch_s, list(EVENT_TIME_LEVELS), _ACCURACY).alias(
            "epoch_s_by_level"
        ),
    )


def _epoch_s(frame: DataFrame, column: str, unit: EpochUnit | None) -> Column:
    kind: DataType = frame.select(column).schema[0].dataType
    if isinstance(kind, (TimestampType, TimestampNTZType)):
        return sql.col(column).cast("timestamp").cast("double")
    if not isinstance(kind, NumericType):
        raise NotATime(
            f"column {column!r} is {kind.simpleString()}: observe needs a timestamp, or a number "
            f"since 1970 and its unit"
        )
    if unit is None:
        raise NotATime(f'column {column!r} is a number: say its unit, "s", "ms" or "us"')
    return sql.col(column).cast("double") / _PER_SECOND[unit]
