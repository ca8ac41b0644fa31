"""The JVM of a running Spark driver, reached through its Py4J gateway.

Everything that senses and scales goes through this handle, which needs the gateway and no
`SparkSession` of its own process. Any call may raise once the JVM or the application has ended.
"""

from typing import Any

from py4j.protocol import Py4JError
from pyspark.sql import SparkSession

_JOBS_A_QUERY = 2
"""The one that runs, and one that is whole; a batch may have several."""


class Driver:
    """The application's SparkContext and default session, as Py4J objects."""

    def __init__(self, gateway: Any) -> None:
        self.gateway = gateway
        self.jvm = gateway.jvm
        self.session = self.jvm.org.apache.spark.sql.SparkSession.getDefaultSession().get()
        self.context = self.session.sparkContext()
        self.clients: dict[str, Any] = {}
        """Clients of other systems that live in this JVM, by what they were made with."""

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
        return _text(self.context.conf().getOption(key))

    def is_alive(self) -> bool:
        """False once the application has stopped its context, or the JVM is gone."""
        try:
            return not self.context.isStopped()
        except (Py4JError, OSError):
            return False

    def query_stage_tasks(self) -> list[int]:
        """Tasks of every stage of the last jobs of each query, those that run included."""
        tracker = self.context.statusTracker()
        stages: set[int] = set()
        for query in self.active_queries():
            # A query's jobs are the group with the id of its run; a call for each would be slow.
            group = self._numbers(tracker.getJobIdsForGroup(query.runId().toString()))
            for job in sorted(group)[-_JOBS_A_QUERY:]:
                info = tracker.getJobInfo(job)
                if info.isDefined():
                    stages.update(self._numbers(info.get().stageIds()))
        found = [tracker.getStageInfo(stage) for stage in stages]
        return [int(stage.get().numTasks()) for stage in found if stage.isDefined()]

    def _numbers(self, java_array: Any) -> list[int]:
        """All of it in one call."""
        text = str(self.jvm.java.util.Arrays.toString(java_array))
        return [int(each) for each in text.strip("[]").split(",") if each.strip()]

    def active_queries(self) -> list[Any]:
        """The streaming queries of every session of the application."""
        active = self.session.sharedState().activeStreamingQueries().values()
        # A copy of a public class: Py4J may not call the view of the map itself.
        return list(self.jvm.java.util.ArrayList(active))

    def execution_of(self, query: Any) -> Any:
        """Spark's own object behind a query, which knows more than the public one."""
        is_wrapper = query.getClass().getSimpleName() == "StreamingQueryWrapper"
        return query.streamingQuery() if is_wrapper else query

    def java_list(self, scala_sequence: Any) -> list[Any]:
        return list(self.jvm.scala.jdk.javaapi.CollectionConverters.asJava(scala_sequence))


def _text(option: Any) -> str | None:
    """Of a Scala option; empty text is none."""
    return (str(option.get()) or None) if option.isDefined() else None
