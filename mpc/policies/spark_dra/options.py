"""`[policies.spark-dra]`. Defaults are those of `spark.dynamicAllocation.*`."""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import (
    PositiveSecondsInADay,
    PositiveSecondsInAnHour,
    SecondsInAnHour,
)


class SparkDraOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Spark's core dynamic allocation: executors for tasks that wait."""

    backlog_timeout_s: Annotated[
        PositiveSecondsInAnHour,
        Meta(description="Seconds for which tasks must wait before the first executor is added."),
    ] = 1.0
    sustained_timeout_s: Annotated[
        PositiveSecondsInAnHour,
        Meta(
            description="Seconds of sustained backlog before the number of new executors is "
            "doubled."
        ),
    ] = 1.0
    idle_timeout_s: Annotated[
        PositiveSecondsInADay,
        Meta(description="Seconds without a task after which an executor is removed."),
    ] = 60.0
    tasks: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Tasks of one batch.", extra={"unit": "tasks"}),
    ] = 200
    slots: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Tasks that one executor runs at a time: its cores over spark.task.cpus.",
            extra={"unit": "tasks"},
        ),
    ] = 1
    batch_interval_s: Annotated[
        SecondsInAnHour,
        Meta(description="Trigger interval of the query; 0 if batches run back to back."),
    ] = 0.0
