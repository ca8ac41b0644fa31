"""One `Measurement` a step from a live Spark application: the sum of its streaming queries, the
executors' CPU time and the power of the hosts.

Polls, and never raises: what cannot be read is None and an event. Where every source can be asked
(`asked.py`), they are in every step. Otherwise the batches tell, and a step in which no trigger
ended has no arrivals, rather than those of an earlier step again; nor has one with a stale query,
whoever tells.
An idle query is no stale one: its own thread says that it waits for data, and arrivals are zero.
"""

from collections.abc import Callable, Sequence
from dataclasses import asdict

from mpc.events import Event, EventKind, Events
from mpc.values import Applied, BatchSample, Measurement
from runtime.clock import HostClock, SystemClock
from runtime.fleet.state import FleetState
from runtime.spark.sensing import totals
from runtime.spark.sensing.cluster_log import ConfigurationLog, CycleCount
from runtime.spark.sensing.queries import QueryPort
from runtime.spark.sensing.query_run import QueryRun
from runtime.spark.sensing.reading import BatchMoment, QueryReading
from runtime.spark.sensing.totals import TotalArrivals, TotalOverQueries
from runtime.spark.sensing.variability import NeighbourVariance


class SparkSensor:
    """Call `measure` once a step from one thread."""

    def __init__(
        self,
        queries: Callable[[], Sequence[QueryPort]],
        step_s: float,
        *,
        hosts: Callable[[], FleetState] | None = None,
        application: str | None = None,
        clock: HostClock | None = None,
        target_s: float | None = None,
    ) -> None:
        """`hosts` is what the agents last reported, of which the executors of `application`
        (Spark's application id) are counted; None: all. `target_s` tells late rows; None: nobody
        asks."""
        self._queries = queries
        self._step_s = step_s
        self._target_s = target_s
        self._hosts = hosts
        self._application = application
        self._clock = clock or SystemClock()
        self._last_wall_s = self._clock.wall_s()
        self._runs: dict[str, QueryRun] = {}
        self._stale: set[str] = set()
        self._unasked: set[str] = set()
        self._broken: set[EventKind] = set()
        self._events: list[Event] = []
        self.readings: tuple[QueryReading, ...] = ()
        """Each query in the step last measured."""
        self._log = ConfigurationLog()
        self._cycles = CycleCount()
        self._arrivals = TotalArrivals(step_s)
        self._completions = TotalOverQueries(lambda reading: reading.completions_per_s)
        self._arrival_variance = NeighbourVariance()
        self._cost_variance = NeighbourVariance()

    @property
    def queries(self) -> tuple[dict[str, object], ...]:
        """The readings of the step last measured, ready for the journal."""
        return tuple(asdict(reading) for reading in self.readings)

    @property
    def batch_moment(self) -> BatchMoment:
        """As the step last measured has ended."""
        readings = self.readings
        return BatchMoment(
            between=all(each.batches or not each.in_batch for each in readings),
            longest_s=max((run.last_batch_s for run in self._runs.values()), default=0.0),
        )

    def measure(self, ran: Applied) -> tuple[Measurement, Events]:
        """Of the time since the last call, in which `ran` was requested and running. Steps are
        numbered by whoever counts them."""
        now_s, wall_s = self._clock.boot_s(), self._clock.wall_s()
        self._events = []
        self._log.note(wall_s, ran.observed)
        readings = self._read_queries(now_s, wall_s)
        fleet = self._read_hosts()
        self._last_wall_s = wall_s
        self.readings = readings

        arrivals = self._arrivals.add_up(readings, wall_s)
        self._arrival_variance.add(arrivals.per_s, arrivals.span_s)
        rows = sum(reading.completed_rows for reading in readings)
        cost_cycles = self._cost_cycles(readings, rows, fleet, ran)
        if rows:
            self._cost_variance.add(cost_cycles, rows)
        dispersion = self._arrival_variance.dispersion
        batches = sorted(
            (batch for reading in readings for batch in reading.batches),
            key=lambda batch: batch.finished_s,
        )
        measurement = Measurement(
            step=0,
            time_s=0.0,
            requested=ran.requested,
            observed=ran.observed,
            arrivals_per_s=arrivals.per_s,
            arrivals_age_s=arrivals.age_s,
            arrivals_origin=arrivals.origin,
            # Of a renewal process, over long times, the one is the square of the other.
            arrival_cv=None if dispersion is None else dispersion**0.5,
            arrival_dispersion=dispersion,
            completions_per_s=self._completions.add_up(readings),
            backlog_items=arrivals.backlog_rows,
            cost_cycles=cost_cycles,
            cost_cv=self._cost_variance.cv,
            wait_s=totals.wait_s(readings),
            latency_s=totals.latency_s(readings),
            latency_kind=totals.latency_kind(readings),
            oldest_wait_s=totals.oldest_wait_s(readings),
            is_fresh=totals.is_fresh(readings),
            late_share=totals.late_share(readings),
            batches=tuple(
                BatchSample(
                    batch.rows,
                    batch.duration_s,
                    self._log.during(batch.started_s, batch.finished_s),
                    # An executor that came during the batch before runs its first tasks in this
                    # one; the one before is taken to have been as long.
                    cold=batch.opens
                    or self._log.grew(batch.started_s - batch.duration_s, batch.finished_s),
                )
                for batch in batches
            ),
            trigger_interval_s=self._trigger_interval_s,
            power_w=None if fleet is None else fleet.power_w,
            power_source=(fleet.source if fleet is not None else None) or "modelled",
            hosts=() if fleet is None else fleet.readings(self._application),
        )
        return measurement, tuple(self._events)

    @property
    def _trigger_interval_s(self) -> float | None:
        """Of several queries the longest: their rows wait for it."""
        known_s = [run.trigger_interval_s for run in self._runs.values()]
        return max((known for known in known_s if known is not None), default=None)

    def _read_queries(self, now_s: float, wall_s: float) -> tuple[QueryReading, ...]:
        try:
            active = {port.run_id: port for port in self._queries()}
            names = {run_id: self._label(run_id, port) for run_id, port in active.items()}
        except Exception as error:  # py4j raises anything when a JVM or a session ends
            self._note(EventKind.SESSION_UNREADABLE, error)
            # Nothing is forgotten: they may be readable again in the next step.
            return tuple(
                QueryReading(run.label, "stale", overdue=True) for run in self._runs.values()
            )
        self._cleared(EventKind.SESSION_UNREADABLE, EventKind.SESSION_RECOVERED)
        for run_id in list(self._runs.keys() - active.keys()):
            self._end(self._runs.pop(run_id))
        for run_id, port in active.items():
            if run_id in self._runs:
                continue
            self._runs[run_id] = QueryRun(port, names[run_id], self._step_s, now_s, self._target_s)
            self._report(EventKind.QUERY_STARTED, f"run {run_id}", names[run_id])
        return tuple(self._read(run, now_s, wall_s) for run in self._runs.values())

    def _label(self, run_id: str, port: QueryPort) -> str:
        known = self._runs.get(run_id)
        return known.label if known is not None else port.name or run_id

    def _read(self, run: QueryRun, now_s: float, wall_s: float) -> QueryReading:
        reading = run.read(now_s, wall_s, self._last_wall_s)
        if reading.activity == "stale" and run.label not in self._stale:
            self._stale.add(run.label)
            self._report_stale(run)
        elif reading.activity != "stale" and run.label in self._stale:
            self._stale.discard(run.label)
            self._report(EventKind.QUERY_RECOVERED, "readings are fresh again", run.label)
        problem = run.source_problem
        if problem is not None and run.label not in self._unasked:
            self._unasked.add(run.label)
            self._report(EventKind.SOURCE_UNREADABLE, problem, run.label)
        elif reading.origin == "source" and problem is None and run.label in self._unasked:
            self._unasked.discard(run.label)
            self._report(EventKind.SOURCE_RECOVERED, "it answers again", run.label)
        return reading

    def _report_stale(self, run: QueryRun) -> None:
        if run.unsupported is not None:
            self._report(EventKind.QUERY_UNSUPPORTED, run.unsupported, run.label)
        else:
            problem = run.problem or "its batch does not end"
            self._report(EventKind.QUERY_STALE, problem, run.label)

    def _end(self, run: QueryRun) -> None:
        self._stale.discard(run.label)
        self._unasked.discard(run.label)
        try:
            failure = run.port.failure()
        except Exception as error:
            failure = f"unknown: {type(error).__name__}"
        if failure is None:
            self._report(EventKind.QUERY_STOPPED, "stopped", run.label)
        else:
            self._report(EventKind.QUERY_FAILED, failure, run.label)

    def _read_hosts(self) -> FleetState | None:
        if self._hosts is None:
            return None
        try:
            fleet = self._hosts()
        except Exception as error:  # whatever it is, the step goes on without power and CPU time
            self._note(EventKind.HOSTS_UNREADABLE, error)
            return None
        self._cleared(EventKind.HOSTS_UNREADABLE, EventKind.HOSTS_RECOVERED)
        return fleet

    def _cost_cycles(
        self,
        readings: Sequence[QueryReading],
        rows: int,
        fleet: FleetState | None,
        ran: Applied,
    ) -> float | None:
        cpu_s = {} if fleet is None else fleet.cpu_s
        if self._application is not None:
            cpu_s = {key: used for key, used in cpu_s.items() if key[0] == self._application}
        # An executor whose CPU time is missing has worked on the rows as well.
        complete = len(cpu_s) >= max(ran.observed.executors, 1)
        self._cycles.add(cpu_s if complete else None, ran.observed.frequency_khz)
        if not rows and totals.all_idle(readings):
            self._cycles.forget()
        return self._cycles.per_row(rows)

    def _note(self, kind: EventKind, error: Exception) -> None:
        """When it begins, not at every step."""
        if kind not in self._broken:
            self._broken.add(kind)
            self._report(kind, " ".join(f"{type(error).__name__}: {error}".split())[:300])

    def _cleared(self, kind: EventKind, recovered: EventKind) -> None:
        if kind in self._broken:
            self._broken.discard(kind)
            self._report(recovered, "readable again")

    def _report(self, kind: EventKind, detail: str, query: str | None = None) -> None:
        self._events.append(Event(kind, detail if query is None else f"{query}: {detail}"))
