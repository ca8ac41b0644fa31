"""Moves a Spark application to the number of executors that was asked for, step by step.

A state machine over `SchedulerPort` and a clock: it knows neither Spark nor threads. The cluster
manager fills up to a target and removes nothing, so growing is setting the target, and shrinking
is setting it first, then draining the executors that hold least, then killing those that do not
end within the grace period.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from mpc.events import Event, EventKind, Events
from runtime.spark.scaling.executors import ExecutorInfo, SchedulerPort
from runtime.spark.scaling.startup_delay import StartUpDelay
from runtime.spark.sensing.reading import BatchMoment

BETWEEN = BatchMoment()
BATCHES = 2.0
"""So many of the last batch the end of one is waited for, and a task that runs is left alone."""
PATIENCE_S = 60.0
"""A start that takes longer than this, and twice as long as those before it, is stalled."""


@dataclass(frozen=True, slots=True)
class ScalingState:
    """What was asked for and what runs, after one step."""

    wanted: int | None
    """By the controller; None until it asked for something."""
    requested: int
    """Of the cluster manager. It stays above `wanted` while executors that were asked for
    before are still starting."""
    observed: int
    """Executors that take tasks: registered and not leaving."""
    pending: int
    """Requested and not there yet."""
    leaving: int
    """Draining or being killed."""
    executors: tuple[ExecutorInfo, ...]
    """All that are registered, those that leave included."""
    start_up_s: float
    """Learned: from an order to an executor at full speed."""
    events: Events


@dataclass(slots=True)
class _Start:
    asked_s: float
    is_clean: bool
    """Nothing was leaving: it did not wait for another executor's slot."""


@dataclass(slots=True)
class _Leaving:
    deadline_s: float
    was_killed: bool = False


class ExecutorScaler:
    """One application's executors. One thread at a time.

    `SchedulerUnavailable` passes through `request` and `reconcile`; the next call continues from
    what had been ordered by then.
    """

    def __init__(
        self,
        port: SchedulerPort,
        clock_s: Callable[[], float],
        *,
        min_executors: int = 1,
        max_executors: int | None = None,
        grace_s: float = 10.0,
        patience_s: float = PATIENCE_S,
        start_up: StartUpDelay | None = None,
    ) -> None:
        """`patience_s`: after that time, or twice the usual one, a start is no reason to wait any
        longer."""
        if min_executors < 1 or (max_executors is not None and max_executors < min_executors):
            raise ValueError(
                f"executors must satisfy 1 <= min <= max, got {min_executors}..{max_executors}"
            )
        self._port = port
        self._clock_s = clock_s
        self._min = min_executors
        self._max = max_executors
        self._grace_s = grace_s
        self._least_patience_s = patience_s
        self.start_up = start_up or StartUpDelay()
        self._wanted: int | None = None
        self._requested: int | None = None
        """As the cluster manager has it; None until the first order."""
        self._delayed_since_s: float | None = None
        self._reminded_s: float | None = None
        self._surplus_since_s: float | None = None
        """Since when executors wait for the end of a batch to be drained."""
        self._known: dict[str, ExecutorInfo] | None = None
        self._cold: set[str] = set()
        """Started under our eyes and without a finished task yet."""
        self._leaving: dict[str, _Leaving] = {}
        self._starts: list[_Start] = []
        """Executors on their way, oldest first."""
        self._events: list[Event] = []

    def steer(self, executors: int, moment: BatchMoment = BETWEEN) -> ScalingState:
        """Ask for a number, clamped to the bounds, and give the next orders towards it. Executors
        are drained between two batches."""
        most = executors if self._max is None else min(executors, self._max)
        wanted = max(most, self._min)
        now_s, registered, serving = self._look()
        self._move_target(wanted, len(serving), now_s)
        self._wanted = wanted
        self._remind(now_s)
        serving = self._drain_surplus(serving, now_s, moment)
        self._kill_overdue(now_s)
        return self._state(registered, serving)

    def observe(self) -> ScalingState:
        """What runs; gives no order of any kind."""
        _, registered, serving = self._look()
        return self._state(registered, serving)

    def _look(self) -> tuple[float, tuple[ExecutorInfo, ...], list[ExecutorInfo]]:
        now_s = self._clock_s()
        executors = {info.executor_id: info for info in self._port.executors()}
        self._observe(executors, now_s)
        serving = [info for info in executors.values() if info.executor_id not in self._leaving]
        return now_s, tuple(executors.values()), serving

    def _state(
        self, registered: tuple[ExecutorInfo, ...], serving: list[ExecutorInfo]
    ) -> ScalingState:
        requested = len(serving) if self._requested is None else self._requested
        events, self._events = tuple(self._events), []
        return ScalingState(
            wanted=self._wanted,
            requested=requested,
            observed=len(serving),
            pending=max(0, requested - len(serving)),
            leaving=len(self._leaving),
            executors=registered,
            start_up_s=self.start_up.seconds,
            events=events,
        )

    def _observe(self, executors: dict[str, ExecutorInfo], now_s: float) -> None:
        known = executors if self._known is None else self._known
        for executor_id in known.keys() - executors.keys():
            self._note_end(executor_id, known[executor_id].host)
        for executor_id in sorted(executors.keys() - known.keys()):
            self._note_start(executors[executor_id], now_s)
        for executor_id in sorted(self._cold):
            if executors[executor_id].completed_tasks > 0:
                self._cold.discard(executor_id)
                self.start_up.warm.update(executors[executor_id].age_s)
        self._known = executors

    def _note_start(self, info: ExecutorInfo, now_s: float) -> None:
        self._cold.add(info.executor_id)
        if self._starts:
            start = self._starts.pop(0)
            if start.is_clean:
                self.start_up.register.update(max(0.0, now_s - info.age_s - start.asked_s))
        self._note(EventKind.EXECUTOR_STARTED, info.executor_id, info.host, "registered")

    def _note_end(self, executor_id: str, host: str) -> None:
        self._cold.discard(executor_id)
        leaving = self._leaving.pop(executor_id, None)
        if leaving is None:
            self._note(EventKind.EXECUTOR_LOST, executor_id, host, "ended unasked; it is replaced")
        elif leaving.was_killed:
            self._note(
                EventKind.EXECUTOR_KILLED, executor_id, host, "did not end within the grace period"
            )
        else:
            self._note(EventKind.EXECUTOR_DRAINED, executor_id, host, "ended after its last task")

    def _move_target(self, wanted: int, serving: int, now_s: float) -> None:
        self._count_starts(serving, now_s)
        current = self._requested
        if current is None or wanted > current or (wanted < current and not self._must_wait(now_s)):
            self._port.set_target(wanted)
            self._requested = current = wanted
            self._count_starts(serving, now_s)
        if wanted >= current:
            self._delayed_since_s = None

    def _count_starts(self, serving: int, now_s: float) -> None:
        """From the target, so that the replacement of a lost executor is a start too."""
        missing = max(0, (self._requested or 0) - serving)
        del self._starts[missing:]
        is_clean = not self._leaving
        while len(self._starts) < missing:
            self._starts.append(_Start(now_s, is_clean))
        oldest = next((start for start in self._starts if start.is_clean), None)
        self.start_up.observe_waiting(0.0 if oldest is None else now_s - oldest.asked_s)

    @property
    def _patience_s(self) -> float:
        return max(self._least_patience_s, 2.0 * self.start_up.register.seconds)

    def _must_wait(self, now_s: float) -> bool:
        """Whether a smaller target has to wait, since it would undo starts in flight."""
        in_flight = [s for s in self._starts if now_s - s.asked_s < self._patience_s]
        if not in_flight:
            return False
        if self._delayed_since_s is None:
            self._delayed_since_s = now_s
            detail = f"{len(in_flight)} executors are still starting"
            self._events.append(Event(EventKind.SCALE_IN_DELAYED, detail))
        # Executors that die as fast as they start must not hold it for ever.
        return now_s - self._delayed_since_s < self._patience_s

    def _remind(self, now_s: float) -> None:
        """Order again what does not come: a Master that was restarted forgets targets."""
        if not self._starts or self._requested is None:
            self._reminded_s = None
            return
        since_s = self._starts[0].asked_s if self._reminded_s is None else self._reminded_s
        if now_s - since_s >= self._patience_s:
            self._port.set_target(self._requested)
            self._reminded_s = now_s
            detail = (
                f"{len(self._starts)} executors have not come for {self._patience_s:g} s; "
                "the cluster may be full"
            )
            self._events.append(Event(EventKind.EXECUTORS_STALLED, detail))

    def _drain_surplus(
        self, serving: list[ExecutorInfo], now_s: float, moment: BatchMoment
    ) -> list[ExecutorInfo]:
        """Returns those that stay.

        In the middle of a batch they still hold parts of it, which others would have to make again.
        Where batches follow each other too closely to be caught between two, that cannot be helped.
        """
        assert self._requested is not None
        surplus = len(serving) - self._requested
        if surplus <= 0:
            self._surplus_since_s = None
            return serving
        if self._surplus_since_s is None:
            self._surplus_since_s = now_s
        if not moment.between and now_s - self._surplus_since_s < BATCHES * moment.longest_s:
            return serving
        self._surplus_since_s = None
        stores = self._port.state_stores()
        ranked = sorted(serving, key=lambda info: _holding(info, stores))
        victims, staying = ranked[:surplus], ranked[surplus:]
        # Again, right before: a target above what stays would refill those that leave.
        self._port.set_target(self._requested)
        self._port.decommission([info.executor_id for info in victims])
        for info in victims:
            grace_s = max(self._grace_s, BATCHES * moment.longest_s)
            self._leaving[info.executor_id] = _Leaving(now_s + grace_s)
            self._note(EventKind.EXECUTOR_DRAINING, info.executor_id, info.host, "holds least")
        return staying

    def _kill_overdue(self, now_s: float) -> None:
        overdue = [name for name, each in self._leaving.items() if now_s >= each.deadline_s]
        if not overdue:
            return
        self._port.kill(overdue)
        for executor_id in overdue:
            leaving = self._leaving[executor_id]
            leaving.was_killed = True
            leaving.deadline_s = now_s + max(self._grace_s, 1.0)

    def _note(self, kind: EventKind, executor_id: str, host: str, detail: str) -> None:
        self._events.append(Event(kind, f"{executor_id} on {host}: {detail}"))


def _holding(info: ExecutorInfo, stores: Mapping[str, int]) -> tuple[int, int, int, int, float]:
    """The least state first, which is loaded anew elsewhere; idle before busy, then the least
    stored and shuffled, then the youngest."""
    state = stores.get(info.executor_id, 0)
    return (state, info.running_tasks, info.stored_bytes, info.shuffle_bytes, info.age_s)
