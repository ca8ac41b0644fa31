"""`foresight.attach`: put a running SparkSession under control, from inside its driver.

It refuses, with one sentence, where it cannot or must not scale: beside dynamic allocation, on a
Connect session, without a cluster. After that nothing it does raises into the application.
"""

import atexit
import logging
import time
from collections.abc import Callable
from pathlib import Path

from pyspark.sql import SparkSession

from mpc.values import ConfigurationSpace
from runtime.build import live_space
from runtime.config import Config, load_config
from runtime.control.assembly import PolicyFactory, control_loop, open_journal
from runtime.control.journal import JournalInUse, StepJournal, StepRecord
from runtime.control.loop import ControlLoop
from runtime.fleet.connect import agent_connections
from runtime.fleet.fleet import Fleet
from runtime.fleet.offers import offered_frequencies
from runtime.fleet.targets import HostFrequencies
from runtime.spark.cluster import SparkCluster
from runtime.spark.driver import Driver
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import ScalingRefused, Scheduler
from runtime.spark.scaling.startup_delay import StartUpDelay
from runtime.spark.sensing.queries import active_queries
from runtime.spark.sensing.sensor import SparkSensor
from runtime.web.server import WebServer, web_server

_log = logging.getLogger("foresight")


def attach(
    spark: SparkSession,
    config: Config | str | Path | None = None,
    *,
    make_policy: PolicyFactory | None = None,
    on_step: Callable[[StepRecord], None] | None = None,
) -> ControlLoop:
    """Control the executors of this session until `stop()` or the end of the application.

    `config` is a configuration or the path of its file. `make_policy` replaces the policy it
    names; `on_step` sees every step after it was journaled. Raises `ScalingRefused`.
    """
    settings = config if isinstance(config, Config) else load_config(config)
    if not hasattr(spark, "_jsparkSession"):
        raise ScalingRefused(
            "this is a Spark Connect client, which has no handle on the driver: "
            "run Foresight in the application that owns the SparkContext"
        )
    driver = Driver.of(spark)
    scheduler = Scheduler(driver)
    try:
        journal = open_journal(settings, driver.application_name)
    except (JournalInUse, OSError) as error:
        raise ScalingRefused(str(error)) from error
    try:
        loop = _loop(driver, scheduler, settings, journal, make_policy, on_step).start()
    except BaseException as error:
        journal.close()
        if isinstance(error, ValueError):
            raise ScalingRefused(str(error)) from error
        raise
    atexit.register(loop.stop)
    return loop


def _loop(
    driver: Driver,
    scheduler: Scheduler,
    config: Config,
    journal: StepJournal,
    make_policy: PolicyFactory | None,
    on_step: Callable[[StepRecord], None] | None,
) -> ControlLoop:
    records = journal.recent(config.journal.resume_steps)
    fleet = None
    if config.agents.urls:
        fleet = Fleet(
            agent_connections(config.agents),
            config.horizon.step_s,
            control=config.mode == "control",
            take_over=bool(records),
        )
        fleet.start()
    try:
        return _started_loop(
            driver, scheduler, config, journal, records, fleet, make_policy, on_step
        )
    except BaseException:
        if fleet is not None:
            fleet.stop()
        raise


def _started_loop(
    driver: Driver,
    scheduler: Scheduler,
    config: Config,
    journal: StepJournal,
    records: tuple[StepRecord, ...],
    fleet: Fleet | None,
    make_policy: PolicyFactory | None,
    on_step: Callable[[StepRecord], None] | None,
) -> ControlLoop:
    hosts = () if fleet is None else offered_frequencies(fleet, journal.path.parent)
    last = records[-1] if records else None
    cluster = _cluster(driver, scheduler, config, fleet, hosts, last)
    space = live_space(config, cluster.most_executors, hosts)
    page = _page(config, journal.path.parent, fleet, space)
    loop = control_loop(
        config,
        cluster,
        journal,
        records,
        make_policy,
        listeners=[
            *([] if page is None else [page.publish]),
            *([] if on_step is None else [on_step]),
        ],
        on_release=(lambda: None) if page is None else page.stop,
        in_background=True,
    )
    if page is not None:
        loop.page_url = _start(page)
    return loop


def _cluster(
    driver: Driver,
    scheduler: Scheduler,
    config: Config,
    fleet: Fleet | None,
    hosts: tuple[HostFrequencies, ...],
    last: StepRecord | None,
) -> SparkCluster:
    """`last`: of an earlier run, if there was one."""
    most = scheduler.most_executors
    largest = config.executors.max if most is None else min(config.executors.max, most)
    samples = None if last is None else last.start_up
    resumes = last is not None and fleet is not None and config.mode == "control"
    return SparkCluster(
        driver,
        scheduler,
        SparkSensor(
            active_queries(driver),
            config.horizon.step_s,
            hosts=None if fleet is None else fleet.state,
            application=driver.application_id,
            target_s=config.slo.latency_s,
        ),
        ExecutorScaler(
            scheduler,
            time.monotonic,
            min_executors=config.executors.min,
            max_executors=max(largest, config.executors.min),
            grace_s=config.spark.grace_s,
            start_up=StartUpDelay()
            if samples is None
            else StartUpDelay(samples.registered_s, samples.warmed_s),
        ),
        fleet,
        highest_khz=live_space(config, most, hosts).frequencies_khz[-1],
        host_frequencies=hosts,
        requested_khz=last.applied.requested.frequency_khz if last and resumes else None,
        starting_executors=min(scheduler.starting_executors, largest),
    )


def _page(
    config: Config, folder: Path, fleet: Fleet | None, space: ConfigurationSpace
) -> WebServer | None:
    """`ValueError` where the page would be open to others without a token."""
    if not config.web.enabled:
        return None
    state = None if fleet is None else fleet.state
    return web_server(config, config.web, folder, state, space)


def _start(page: WebServer) -> str | None:
    try:
        page.start()
    except OSError as error:
        _log.warning("no page: %s", error)
        return None
    _log.info("the controller's page is at %s", page.url)
    return page.url
