"""The JVM of a running Spark driver, reached through its Py4J gateway.

Everything that senses and scales goes through this handle, which needs the gateway and no
`SparkSession` of its own process. Any call may raise once the JVM or the application has ended.
"""

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession


class Driver:
    """The application's SparkContext and default session, as Py4J objects."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.jvm = gateway.jvm
        self.session = self.jvm.org.apache.spark.sql.SparkSession.getDefaultSession().get()
        self.context = self.session.sparkContext()

    @classmethod
    def of(cls, spark: SparkSession) -> "Driver":
        return cls(spark.sparkContext._gateway)

    @property
    def application_id(self) -> str:
        return str(self.context.applicationId())

    @property
    def application_name(self) -> str:
        return str(self.context.appName())

    def option(self, key: str) -> str | None:
        """Of the application, as it was started."""
        value = self.context.conf().get(key, "")
        return str(value) or None

    def sql_option(self, key: str) -> str | None:
        """Of the default session, as it is set now."""
        value = self.session.conf().get(key, "")
        return str(value) or None

    def is_alive(self) -> bool:
        """False once the application has stopped its context, or the JVM is gone."""
        try:
            return not self.context.isStopped()
        except (Py4JError, OSError):
            return False

    def active_stage_tasks(self, most: int) -> list[int]:
        """Tasks of up to so many stages that run now."""
        tracker = self.context.statusTracker()
        stages = [tracker.getStageInfo(stage) for stage in list(tracker.getActiveStageIds())[:most]]
        return [int(stage.get().numTasks()) for stage in stages if stage.isDefined()]

    def active_queries(self) -> list[Any]:
        """The streaming queries of every session of the application."""
        return list(self.session.sharedState().activeStreamingQueries().values().toArray())
