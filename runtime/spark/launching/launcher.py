"""Catches the SparkSession of an unmodified application as it is made.

`SparkSession.Builder.getOrCreate` is wrapped while the application runs, and nothing else of
pyspark: the first time it adds the recommended options that nobody has set, and every new
SparkContext gets a controller.
"""

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.sql import SparkSession

from runtime.config import Config
from runtime.control.loop import ControlLoop
from runtime.spark.launching.options import SCALING_OPTIONS
from runtime.spark.scaling.scheduler import ScalingRefused, is_standalone

CONNECT_REFUSED = (
    "this application is a Spark Connect client, which has no handle on the driver: "
    "run Foresight in the application that owns the SparkContext"
)
_HOOKED = "getOrCreate"
_EXTRA_JAVA = "spark.executor.extraJavaOptions"


class Launch:
    """One application under control: the controller of its current SparkContext."""

    def __init__(self, attach: Callable[[SparkSession], ControlLoop]) -> None:
        self._attach = attach
        self._context: SparkContext | None = None
        self.controller: ControlLoop | None = None
        self.refusal: ScalingRefused | None = None
        """Kept, in case the application catches what it cannot know."""

    def adopt(self, session: SparkSession) -> None:
        """Control the context of this session, once."""
        context = session.sparkContext
        if context is self._context:
            return
        self.stop()
        self._context = context
        try:
            self.controller = self._attach(session)
        except ScalingRefused as refusal:
            self.refusal = refusal
            session.stop()
            raise

    def refuse(self, reason: str) -> ScalingRefused:
        self.refusal = ScalingRefused(reason)
        return self.refusal

    def stop(self) -> None:
        if self.controller is not None:
            self.controller.stop()


@contextmanager
def hooked(
    launch: Launch, recommended: Callable[[Mapping[str, str]], Mapping[str, str]]
) -> Iterator[None]:
    """`recommended` gets the options that are set and gives those to add."""
    builder_class: Any = SparkSession.Builder
    original = getattr(builder_class, _HOOKED)

    def get_or_create(builder: Any) -> SparkSession:
        if is_connect(builder._options, os.environ):
            raise launch.refuse(CONNECT_REFUSED)
        if SparkContext._active_spark_context is None:
            for key, value in recommended(_options_set(builder._options)).items():
                builder.config(key, value)
        session: SparkSession = original(builder)
        launch.adopt(session)
        return session

    setattr(builder_class, _HOOKED, get_or_create)
    try:
        yield
    finally:
        setattr(builder_class, _HOOKED, original)


def is_connect(options: Mapping[str, str], environment: Mapping[str, str]) -> bool:
    """Whether a builder with these options would make a Connect session."""
    api_mode = options.get("spark.api.mode") or environment.get("SPARK_API_MODE") or ""
    named = "spark.remote" in options or "SPARK_REMOTE" in environment
    return named or "SPARK_CONNECT_MODE_ENABLED" in environment or api_mode.lower() == "connect"


def recommended_options(
    config: Config, known: Mapping[str, str], archive: Callable[[], str | None]
) -> dict[str, str]:
    """What to add to the options a user has set; never one that is set. `archive` gives the Java
    options of a class-data archive and is asked only if they can be used: it may take a while."""
    cores = int(known.get("spark.executor.cores", 1))
    wanted = {
        **SCALING_OPTIONS,
        "spark.executor.cores": str(cores),
        # An idle query tells so at every step, not every 10 s; otherwise its figures are stale.
        "spark.sql.streaming.noDataProgressEventInterval": f"{config.horizon.step_s * 1e3:.0f}",
    }
    if is_standalone(known.get("spark.master")):
        # The cap for all later requests, and the number the application starts with.
        wanted["spark.cores.max"] = str(config.executors.max * cores)
    else:
        wanted["spark.executor.instances"] = str(config.executors.min)
    if config.spark.class_archive and _EXTRA_JAVA not in known:
        java_options = archive()
        if java_options is not None:
            wanted[_EXTRA_JAVA] = java_options
    return {key: value for key, value in wanted.items() if key not in known}


def _options_set(builder_options: Mapping[str, str]) -> dict[str, str]:
    """Those of the builder, of spark-defaults.conf and of PYSPARK_SUBMIT_ARGS."""
    conf = SparkConf()
    for key, value in builder_options.items():
        conf.set(key, value)
    # Starts the JVM as the builder itself would: only the JVM reads the defaults file.
    SparkContext._ensure_initialized(conf=conf)
    return {**dict(SparkConf().getAll()), **builder_options}
