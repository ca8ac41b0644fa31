"""The control loop of a live application: one daemon thread that never disturbs it.

It measures, lets the controller decide, and steers; whatever raises becomes an event, and its part
of the step keeps what was there. Nothing ends it but `stop` and the end of the application; then
executors stay as they are and the hosts are released.
"""

import logging
import threading
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Literal, Self

from energy.power import PowerModel
from mpc.bounds import Bounds
from mpc.controller import Controller, Decided, failure
from mpc.events import Event, EventKind, changes
from mpc.values import ConfigurationSpace, Decision, Measurement
from runtime.control.clock import StepClock
from runtime.control.cluster import ClusterDetails, LiveCluster
from runtime.control.journal import Resumption, StepRecord
from runtime.control.preparation import Preparation
from runtime.control.recorder import Recorder

JOIN_S = 10.0
"""A step that hangs in the JVM must not keep the application from ending."""

_log = logging.getLogger("foresight")


@dataclass(frozen=True, slots=True, kw_only=True)
class Beginning:
    """Where the steps of a loop begin: at zero, or after those of an earlier run."""

    first_step: int = 0
    first_time_s: float = 0.0


class ControlLoop:
    """Use as a context manager, or call `stop`."""

    def __init__(
        self,
        preparation: Preparation,
        cluster: LiveCluster,
        recorder: Recorder,
        beginning: Beginning,
        *,
        mode: Literal["control", "advise"],
        step_s: float,
        power: PowerModel | None,
        blocked_by: Callable[[], Event | None],
        stop: threading.Event,
        monotonic_s: Callable[[], float],
        wall_s: Callable[[], float],
        on_release: Callable[[], None],
    ) -> None:
        """Until `preparation` has a controller, every step is measured and nothing is changed.
        `power` is None where watts are not known. `blocked_by` says why nothing may be changed
        now. `on_release` is called once, when the loop has ended."""
        self._preparation = preparation
        self._controller: Controller | None = None
        self._unseen: list[Measurement] = []
        """Measurements that the controller, when it comes, has to learn from first."""
        self._cluster = cluster
        self._recorder = recorder
        self._mode = mode
        self._power = power
        self._blocked_by = blocked_by
        self._stop = stop
        self._monotonic_s = monotonic_s
        self._wall_s = wall_s
        self._on_release = on_release
        self._step_s = step_s
        self._clock = StepClock(step_s, stop, monotonic_s)
        self._next_step = beginning.first_step
        self._zero_s = monotonic_s() - beginning.first_time_s
        self._resumption: Resumption | None = None
        self._events: list[Event] = []
        """Of the step under way."""
        self._ran, seen = cluster.watch()
        self._events += seen
        self._thread = threading.Thread(target=self._run, name="foresight-control", daemon=True)
        self._release_lock = threading.Lock()
        self._released = False
        self.page_url: str | None = None
        """Where people see it, if it has a page."""

    @property
    def last(self) -> StepRecord | None:
        """The last finished step."""
        return self._recorder.last

    @property
    def running(self) -> bool:
        return self._thread.is_alive()

    def start(self) -> Self:
        self._thread.start()
        return self

    def stop(self) -> None:
        """Idempotent. Executors stay as they are, the agents are released."""
        self._stop.set()
        self.join(JOIN_S)
        self._release()

    def join(self, timeout_s: float) -> None:
        """Wait until the loop has ended by itself."""
        if self._thread.is_alive() and threading.current_thread() is not self._thread:
            self._thread.join(timeout_s)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while self._clock.wait_for_step():
            try:
                if not self._cluster.is_alive():
                    break
                self._step()
            except BaseException as error:  # a SystemExit of a policy ends its step, not the loop
                _log.exception("a control step failed; executors stay as they are")
                self._events.append(failure("step", error))
        if self._controller is not None:
            self._recorder.end(self._controller.state)
        self._release()

    def _step(self) -> None:
        if self._clock.missed_steps:
            self._note(Event(EventKind.STEPS_MISSED, f"{self._clock.missed_steps} steps"))
        measurement = self._measure()
        controller = self._ready_controller()
        decided = self._hold(measurement) if controller is None else controller.step(measurement)
        self._note(*decided.events)
        self._apply(measurement, decided, may_change=controller is not None)
        details = self._details()
        events, self._events = tuple(self._events), []
        resumption, self._resumption = self._resumption, None
        self._events += self._recorder.record(
            StepRecord(
                at_s=self._wall_s(),
                mode=self._mode,
                measurement=measurement,
                decision=decided.decision,
                bounds=decided.bounds,
                target=decided.target,
                applied=self._ran,
                dead_time_s=decided.dead_time_s,
                took_s=self._clock.since_due_s(),
                events=events,
                queries=details.queries,
                start_up=details.start_up,
                resumption=resumption,
                consulted=controller is not None,
            ),
            None if controller is None else controller.state,
        )

    def _ready_controller(self) -> Controller | None:
        """The controller, as soon as it is there and has learned from what it missed."""
        if self._controller is None:
            try:
                prepared = self._preparation.take()
            except Exception as error:
                self._note(failure("controller", error))
                return None
            if prepared is None:
                return None
            for measurement in self._unseen:
                prepared.controller.step(measurement)
            self._unseen = []
            self._controller, self._resumption = prepared.controller, prepared.resumption
            self._note(*prepared.events)
        return self._controller

    def _hold(self, measurement: Measurement) -> Decided:
        self._unseen.append(measurement)
        held_s = len(self._unseen) * self._step_s
        reason = f"hold: compiling the optimiser ({held_s:g} s so far)"
        decision = Decision(measurement.requested, reason)
        place = measurement.requested
        space = ConfigurationSpace(place.executors, place.executors, (place.frequency_khz,))
        event = Event(EventKind.HELD_COMPILING, f"{held_s:g} s so far")
        return Decided(decision, place, Bounds(space), 0.0, (event,))

    def _measure(self) -> Measurement:
        """Numbers the steps, across restarts too, and models the power where none was read."""
        step, time_s = self._next_step, self._monotonic_s() - self._zero_s
        self._next_step += 1
        try:
            measured, seen = self._cluster.measure(self._ran)
            measured = replace(measured, step=step, time_s=time_s, clock_s=self._wall_s())
            self._note(*seen)
        except Exception as error:
            self._note(failure("sensor", error))
            measured = Measurement(step, time_s, self._ran.requested, self._ran.observed)
        if measured.power_w is None and self._power is not None:
            observed = measured.observed
            power_w = float(self._power.power_w(observed.executors, observed.frequency_khz))
            measured = replace(measured, power_w=power_w, power_source="modelled")
        return measured

    def _apply(self, measurement: Measurement, decided: Decided, *, may_change: bool) -> None:
        before = measurement.requested
        try:
            blocked = self._blocked_by()
            if blocked is not None:
                self._note(blocked)
            free = may_change and blocked is None and self._mode == "control"
            self._ran, seen = self._cluster.steer(decided.target) if free else self._cluster.watch()
            self._note(*seen)
        except Exception as error:
            self._note(failure("actuator", error))
        if self._mode == "advise":
            self._note(
                *(Event(EventKind.ADVISED, each.detail) for each in changes(before, decided.target))
            )
        else:
            self._note(*changes(before, self._ran.requested))

    def _details(self) -> ClusterDetails:
        try:
            return self._cluster.details()
        except Exception as error:
            self._note(failure("details", error))
            return ClusterDetails()

    def _note(self, *events: Event) -> None:
        self._events += events

    def _release(self) -> None:
        with self._release_lock:
            if self._released:
                return
            self._released = True
            try:
                self._cluster.close()
            except Exception:
                _log.exception("agents were not released; their leases end by themselves")
            self._recorder.close()
            self._on_release()
