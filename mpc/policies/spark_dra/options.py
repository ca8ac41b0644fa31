"""`[policies.spark-dra]`. Defaults are those of `spark.dynamicAllocation.*`."""

from mpc.options import (
    Options,
    PositiveSecondsInADay,
    PositiveSecondsInAnHour,
    SecondsInAnHour,
    option,
)


class SparkDraOptions(Options):
    """Spark's core dynamic allocation: executors for tasks that wait."""

    backlog_timeout_s: PositiveSecondsInAnHour = option(
        1.0, "Seconds for which tasks must wait before the first executor is added."
    )
    sustained_timeout_s: PositiveSecondsInAnHour = option(
        1.0, "Seconds of sustained backlog before the number of new executors is doubled."
    )
    idle_timeout_s: PositiveSecondsInADay = option(
        60.0, "Seconds without a task after which an executor is removed."
    )
    tasks: int = option(200, "Tasks of one batch.", "tasks", ge=1, le=1_000_000)
    slots: int = option(
        1,
        "Tasks that one executor runs at a time: its cores over spark.task.cpus.",
        "tasks",
        ge=1,
        le=1000,
    )
    batch_interval_s: SecondsInAnHour | None = option(
        None,
        "Trigger interval of the query; 0 if batches run back to back.",
        absent="as measured; 0 where there is none",
        example=10.0,
    )
