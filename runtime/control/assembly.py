"""Puts a control loop together from a configuration and the ports of a cluster.

Here is what a start means: read the journal, build the policy, take over what an earlier run saved
of it or let it learn from what was journaled, and begin where that run ended. Knows no Spark.
"""

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path

from mpc.bounds import Bounds
from mpc.events import EventKind
from mpc.ports import Policy
from mpc.values import Applied, ConfigurationSpace
from runtime.build import PLANNING_POLICIES, live_policy, live_power, live_space
from runtime.config import Config
from runtime.control.actuator import ClusterActuator
from runtime.control.guards import Guards
from runtime.control.holds import Holds
from runtime.control.journal import Journal, Resumption, StepRecord
from runtime.control.loop import Controller, LoopParts
from runtime.control.ports import ExecutorPort, FleetPort, LiveSensor
from runtime.control.resume import RelearningPolicy, gap, resumed
from runtime.control.safe import EventLog, GuardedPolicy, SafeSensor, StepClock
from runtime.control.snapshots import EVERY_STEPS, SnapshotFile, fingerprint
from runtime.control.starts import Start, note_start

PolicyFactory = Callable[[ConfigurationSpace, float], Policy]
"""From what can be chosen and the dead time in seconds; called again when that has changed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClusterPorts:
    """A cluster as the control loop sees it."""

    executors: ExecutorPort
    fleet: FleetPort | None
    make_sensor: Callable[[Callable[[], Applied]], LiveSensor]
    """Given what was requested and observed last."""
    useful_executors: Callable[[], int | None]
    most_executors: int | None
    """What the cluster manager grants at most; None: unknown."""
    alive: Callable[[], bool]
    """False once the application has ended."""
    stop: threading.Event = field(default_factory=threading.Event)
    """Ends the loop, also while it waits for its next step."""
    monotonic_s: Callable[[], float] = time.monotonic
    wall_s: Callable[[], float] = time.time


def controller(
    config: Config,
    ports: ClusterPorts,
    journal: Journal,
    records: tuple[StepRecord, ...],
    make_policy: PolicyFactory | None = None,
    on_step: Callable[[StepRecord], None] | None = None,
    on_release: Callable[[], None] | None = None,
) -> Controller:
    """A controller that has learned from the records and is ready to start.

    `make_policy` replaces the policy of the configuration. `ValueError` for a configuration that
    cannot run on this cluster.
    """
    space = live_space(config, ports.most_executors, with_frequencies=ports.fleet is not None)
    power = live_power(config)
    target_s, step_s = config.slo.latency_ms / 1e3, config.horizon.step_s
    events = EventLog()
    events.add(EventKind.STARTED, f"{config.policy}, mode {config.mode}")
    make = make_policy or (lambda space, seconds: live_policy(config, space, power, seconds))

    fixed_s = config.limits.dead_time_s
    if fixed_s is None and make_policy is None and config.policy not in PLANNING_POLICIES:
        # To be built anew for another dead time would only make such a policy forget.
        fixed_s = 0.0

    def dead_time_s() -> float:
        return ports.executors.start_up_s if fixed_s is None else fixed_s

    first_dead_time_s = records[-1].dead_time_s if records and fixed_s is None else dead_time_s()
    snapshots = None
    # What a policy that came with the call is built from, nobody knows: it is not saved.
    if make_policy is None and config.journal.resume_steps > 0:
        snapshots = SnapshotFile(journal.path.parent, fingerprint(config, space), space)
    begun = resumed(
        lambda: (
            RelearningPolicy(
                lambda seconds: make(space, seconds),
                dead_time_s,
                first_dead_time_s,
                step_s,
                space,
                events,
            ),
            Guards(space, target_s),
        ),
        snapshots,
        records,
        events,
    )
    planner = begun.planner
    first_step, first_time_s, resumption = 0, 0.0, None
    if records:
        last = records[-1]
        missed = gap(last, ports.wall_s(), step_s)
        for measurement in missed:
            planner.decide(measurement, Bounds(space))
        first_step = last.measurement.step + len(missed) + 1
        # The first step comes one step after the start, as it does without any record.
        first_time_s = last.measurement.time_s + len(missed) * step_s
        events.add(EventKind.RESUMED, f"{begun.how}, {len(missed)} missed since")
        resumption = Resumption(
            len(records), begun.saved_step, len(missed), begun.planner.dead_time_s
        )
    _note_start(config, ports, journal, space, make_policy is not None, events)
    actuator = ClusterActuator(
        ports.executors,
        ports.fleet,
        config.mode,
        space.frequencies_khz[-1],
        records[-1].applied.requested.frequency_khz if records and ports.fleet else None,
    )
    sensor = ports.make_sensor(lambda: actuator.current)
    return Controller(
        LoopParts(
            mode=config.mode,
            sensor=SafeSensor(
                sensor,
                actuator,
                power if config.power.in_watts else None,
                first_step,
                first_time_s,
                ports.monotonic_s,
                events,
            ),
            policy=GuardedPolicy(planner, begun.guards, ports.useful_executors, events),
            actuator=actuator,
            space=space,
            clock=StepClock(step_s, ports.stop, ports.alive, ports.monotonic_s, events),
            stop=ports.stop,
            events=events,
            journal=journal,
            dead_time_s=lambda: planner.dead_time_s,
            start_up=lambda: ports.executors.start_up_samples,
            queries=lambda: sensor.queries,
            held=Holds.of(config, journal.path.parent, ports.wall_s).held,
            save=None if snapshots is None else lambda at: snapshots.write(at, planner.policy),
            save_steps=min(EVERY_STEPS, max(config.journal.resume_steps, 1)),
            resumption=resumption,
            on_step=on_step,
            on_release=on_release,
            wall_s=ports.wall_s,
        )
    )


def _note_start(
    config: Config,
    ports: ClusterPorts,
    journal: Journal,
    space: ConfigurationSpace,
    given_policy: bool,
    events: EventLog,
) -> None:
    try:
        note_start(
            journal.path.parent,
            Start(ports.wall_s(), version("foresight-autoscaler"), given_policy, space, config),
        )
    except OSError as error:
        events.add(EventKind.JOURNAL_UNAVAILABLE, f"start not noted: {error}")


def open_journal(config: Config, application: str) -> Journal:
    """The journal of one application, by its name."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in application)
    # A name of dots alone would be another folder.
    folder = Path(config.journal.folder) / (name.strip(".") or "application")
    return Journal(folder, config.journal.max_mb * 1_000_000)
