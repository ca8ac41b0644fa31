"""`foresight.attach`: put a running SparkSession under control, from inside its driver.

It refuses, with one sentence, where it cannot or must not scale: beside dynamic allocation, on a
Connect session, without a cluster. After that nothing it does raises into the application.
"""

import atexit
import logging
import time
from collections import deque
from collections.abc import Callable
from math import ceil
from pathlib import Path

from pyspark.sql import SparkSession

from runtime.config import Config, load_config
from runtime.control.assembly import ClusterPorts, PolicyFactory, controller, open_journal
from runtime.control.journal import Journal, JournalInUse, StepRecord
from runtime.control.loop import Controller
from runtime.fleet.fleet import Fleet
from runtime.spark.live import LiveExecutors, LiveFleet, LiveSensor, agent_connections
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import ScalingRefused, Scheduler, why_refused
from runtime.spark.scaling.startup_delay import StartUpDelay
from runtime.spark.sensing.queries import active_queries
from runtime.spark.sensing.sensor import SparkSensor
from runtime.web.server import WebServer, web_server

_log = logging.getLogger("foresight")
_STAGES_A_STEP = 4
_WIDEST_OF_STEPS = 60


def attach(
    spark: SparkSession,
    config: Config | str | Path | None = None,
    *,
    make_policy: PolicyFactory | None = None,
    on_step: Callable[[StepRecord], None] | None = None,
) -> Controller:
    """Control the executors of this session until `stop()` or the end of the application.

    `config` is a configuration or the path of its file. `make_policy` replaces the policy it
    names; `on_step` sees every step after it was journaled. Raises `ScalingRefused`.
    """
    settings = config if isinstance(config, Config) else load_config(config)
    reason = why_refused(spark)
    if reason is not None:
        raise ScalingRefused(reason)
    try:
        journal = open_journal(settings, spark.sparkContext.appName or "")
    except (JournalInUse, OSError) as error:
        raise ScalingRefused(str(error)) from error
    try:
        begun = _controller(spark, settings, journal, make_policy, on_step).start()
    except BaseException as error:
        journal.close()
        if isinstance(error, ValueError):
            raise ScalingRefused(str(error)) from error
        raise
    atexit.register(begun.stop)
    return begun


def _controller(
    spark: SparkSession,
    config: Config,
    journal: Journal,
    make_policy: PolicyFactory | None,
    on_step: Callable[[StepRecord], None] | None,
) -> Controller:
    records = journal.recent(config.journal.resume_steps)
    scheduler = Scheduler(spark)
    start_up = StartUpDelay()
    if records:
        samples = records[-1].start_up
        start_up = StartUpDelay(samples.registered_s, samples.warmed_s)
    most = scheduler.most_executors
    largest = config.executors.max if most is None else min(config.executors.max, most)
    scaler = ExecutorScaler(
        scheduler,
        time.monotonic,
        min_executors=config.executors.min,
        max_executors=max(largest, config.executors.min),
        grace_s=config.spark.grace_s,
        start_up=start_up,
    )
    context = spark.sparkContext
    fleet = None
    if config.agents.urls:
        fleet = Fleet(
            agent_connections(config.agents),
            config.horizon.step_s,
            control=config.mode == "control",
            take_over=bool(records),
        )
    ports = ClusterPorts(
        executors=LiveExecutors(scaler, starting=0 if most is None else largest),
        fleet=None if fleet is None else LiveFleet(fleet),
        make_sensor=lambda current: LiveSensor(
            SparkSensor(
                active_queries(spark),
                current,
                config.horizon.step_s,
                hosts=None if fleet is None else fleet.state,
                application=context.applicationId,
            )
        ),
        useful_executors=UsefulExecutors(spark, scheduler),
        most_executors=most,
        alive=lambda: context._jsc is not None,
    )
    page = _page(config, journal.path.parent, fleet)
    begun = controller(
        config,
        ports,
        journal,
        records,
        make_policy,
        on_step if page is None else _both(page.publish, on_step),
        None if page is None else page.stop,
    )
    if fleet is not None:
        fleet.start()
    if page is not None:
        begun.page_url = _started(page)
    return begun


def _page(config: Config, folder: Path, fleet: Fleet | None) -> WebServer | None:
    """`ValueError` where the page would be open to others without a token."""
    if not config.web.enabled:
        return None
    return web_server(config, config.web, folder, None if fleet is None else fleet.state)


def _both(
    first: Callable[[StepRecord], None], second: Callable[[StepRecord], None] | None
) -> Callable[[StepRecord], None]:
    def tell(record: StepRecord) -> None:
        first(record)
        if second is not None:
            second(record)

    return tell


def _started(page: WebServer) -> str | None:
    try:
        page.start()
    except OSError as error:
        _log.warning("no page: %s", error)
        return None
    _log.info("the controller's page is at %s", page.url)
    return page.url


class UsefulExecutors:
    """How many executors find a task: those of the widest stage seen lately, or of a shuffle."""

    def __init__(self, spark: SparkSession, scheduler: Scheduler) -> None:
        self._tracker = spark.sparkContext.statusTracker()
        self._scheduler = scheduler
        self._widest: deque[int] = deque(maxlen=_WIDEST_OF_STEPS)

    def __call__(self) -> int | None:
        """None until a stage was seen at work: a source may have any number of partitions."""
        stages = [
            stage
            for stage_id in self._tracker.getActiveStageIds()[:_STAGES_A_STEP]
            if (stage := self._tracker.getStageInfo(stage_id)) is not None
        ]
        if stages:
            self._widest.append(max(stage.numTasks for stage in stages))
        if not self._widest:
            return None
        tasks = max(*self._widest, self._scheduler.usable_tasks)
        return ceil(tasks / self._scheduler.executor_cores)
