"""What the journal of a live run would hold of a simulated one."""

from collections.abc import Iterator

from mpc.controller import Controller
from mpc.events import Event, EventKind, changes
from mpc.ports import Plant
from mpc.simulation.run import control
from runtime.control.cluster import StartUpSamples
from runtime.control.journal import StepRecord


def simulated_records(
    controller: Controller,
    plant: Plant,
    began_s: float = 1000.0,
    start_up: StartUpSamples | None = None,
) -> Iterator[StepRecord]:
    started: tuple[Event, ...] = (Event(EventKind.STARTED, "simulated"),)
    for step in control(controller, plant):
        decided = step.decided
        moved = changes(step.measurement.requested, step.applied.requested)
        yield StepRecord(
            at_s=began_s + step.measurement.time_s,
            mode="control",
            measurement=step.measurement,
            bounds=decided.bounds,
            decision=decided.decision,
            target=decided.target,
            applied=step.applied,
            dead_time_s=decided.dead_time_s,
            took_s=0.02,
            events=(*started, *decided.events, *moved),
            start_up=start_up or StartUpSamples(),
        )
        started = ()
