"""The live cluster behind the port of the control loop: queries, executors and agents.

Executors are steered through the driver's scheduler, frequencies through the agents of the hosts
that run them; measurements come from the queries' progress and from the agents.
"""

from collections import deque
from dataclasses import replace
from math import ceil

from mpc.controller import failure
from mpc.events import Events
from mpc.values import Applied, Configuration, Measurement
from runtime.control.cluster import ClusterDetails, StartUpSamples
from runtime.fleet.fleet import Fleet
from runtime.fleet.targets import HostFrequencies
from runtime.spark.driver import Driver
from runtime.spark.scaling.scaler import ExecutorScaler, ScalingState
from runtime.spark.scaling.scheduler import Scheduler
from runtime.spark.sensing.sensor import SparkSensor

_WIDEST_OF_STEPS = 60


class SparkCluster:
    """Implements `LiveCluster`."""

    def __init__(
        self,
        driver: Driver,
        scheduler: Scheduler,
        sensor: SparkSensor,
        scaler: ExecutorScaler,
        fleet: Fleet | None,
        *,
        highest_khz: int,
        host_frequencies: tuple[HostFrequencies, ...] = (),
        requested_khz: int | None = None,
        starting_executors: int = 0,
    ) -> None:
        """`highest_khz`: what hosts run at that nobody has capped. `host_frequencies`: what they
        offer; with none they are left at their own speed. `requested_khz`: what an
        earlier run asked for last. `starting_executors`: how many Spark itself asked for when the
        application began; until one of them has come that is what counts as requested, because to
        hold must not be to scale in."""
        self._driver = driver
        self._scheduler = scheduler
        self._sensor = sensor
        self._scaler = scaler
        self._fleet = fleet
        self._highest_khz = highest_khz
        self._host_frequencies = host_frequencies
        self._requested_khz = requested_khz
        self._starting_executors = starting_executors
        self._useful = UsefulExecutors(driver, scheduler)

    @property
    def most_executors(self) -> int | None:
        return self._scheduler.most_executors

    @property
    def host_frequencies(self) -> tuple[HostFrequencies, ...]:
        return self._host_frequencies

    def measure(self, ran: Applied) -> tuple[Measurement, Events]:
        measured, events = self._sensor.measure(ran)
        useful = None
        try:
            useful = self._useful.count()
        except Exception as error:  # py4j raises anything; the rest of the measurement is good
            events = (*events, failure("useful executors", error))
        startup_s = self._scaler.start_up.seconds
        return replace(measured, useful_executors=useful, startup_s=startup_s), events

    def steer(self, target: Configuration) -> tuple[Applied, Events]:
        state = self._scaler.steer(target.executors, self._sensor.batch_moment)
        if self._fleet is not None and self._host_frequencies:
            hosts = {info.host for info in state.executors}
            self._fleet.request(target.frequency_khz, hosts)
            self._requested_khz = target.frequency_khz
        return self._applied(state)

    def watch(self) -> tuple[Applied, Events]:
        return self._applied(self._scaler.observe())

    def details(self) -> ClusterDetails:
        delay = self._scaler.start_up
        samples = StartUpSamples(delay.register.samples_s, delay.warm.samples_s)
        return ClusterDetails(self._sensor.queries, samples)

    def is_alive(self) -> bool:
        return self._driver.is_alive()

    def close(self) -> None:
        if self._fleet is not None:
            self._fleet.stop()

    def _applied(self, state: ScalingState) -> tuple[Applied, Events]:
        fleet = self._fleet
        observed_khz = None
        if fleet is not None and self._host_frequencies:
            observed_khz = fleet.state().frequency_khz
        observed = Configuration(state.observed, observed_khz or self._highest_khz)
        executors = state.requested
        if state.wanted is None and not state.executors:
            executors = self._starting_executors
        requested = Configuration(executors, self._requested_khz or observed.frequency_khz)
        return Applied(requested, observed), state.events + (
            () if fleet is None else fleet.events()
        )


class UsefulExecutors:
    """How many executors find a task in the widest stage that the queries had lately.

    Of their own stages: the partitions of a source and of a state do not follow the session's
    setting for shuffles, which is 200 unless somebody changed it.
    """

    def __init__(self, driver: Driver, scheduler: Scheduler) -> None:
        self._driver = driver
        self._scheduler = scheduler
        self._widest: deque[int] = deque(maxlen=_WIDEST_OF_STEPS)

    def count(self) -> int | None:
        """None until a stage was seen: a source may have any number of partitions."""
        tasks = self._driver.query_stage_tasks()
        if tasks:
            self._widest.append(max(tasks))
        if not self._widest:
            return None
        return ceil(max(self._widest) / self._scheduler.executor_slots)
