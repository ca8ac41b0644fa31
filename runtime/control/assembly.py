"""Puts a control loop together from a configuration and a cluster.

Here is what a start means: read the journal, build the controller, take over what an earlier run
saved of it or let it learn from what was journaled, and begin where that run ended. Knows no Spark.
"""

import threading
import time
from collections.abc import Callable, Sequence
from importlib.metadata import version
from pathlib import Path

from mpc.events import Event, EventKind
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.build import live_controller, live_power, live_space
from runtime.config import Config
from runtime.control.cluster import LiveCluster
from runtime.control.holds import Holds
from runtime.control.journal import Resumption, StepJournal, StepRecord
from runtime.control.loop import Beginning, ControlLoop
from runtime.control.recorder import Listener, Recorder
from runtime.control.resume import gap, resume
from runtime.control.snapshots import EVERY_STEPS, SnapshotFile, fingerprint
from runtime.control.starts import Start, note_start

PolicyFactory = Callable[[ConfigurationSpace, float], Policy]
"""From what can be chosen and the dead time in seconds; called again when that has changed."""


def control_loop(
    config: Config,
    cluster: LiveCluster,
    journal: StepJournal,
    records: tuple[StepRecord, ...],
    make_policy: PolicyFactory | None = None,
    listeners: Sequence[Listener] = (),
    on_release: Callable[[], None] = lambda: None,
    *,
    stop: threading.Event | None = None,
    monotonic_s: Callable[[], float] = time.monotonic,
    wall_s: Callable[[], float] = time.time,
) -> ControlLoop:
    """A loop that has learned from the records and is ready to start.

    `make_policy` replaces the policy of the configuration. `ValueError` for a configuration that
    cannot run on this cluster.
    """
    space = live_space(config, cluster.most_executors, with_frequencies=cluster.sets_frequencies)
    step_s = config.horizon.step_s
    snapshots = None
    # What a policy that came with the call is built from is unknown, so it is not saved.
    if make_policy is None and config.journal.resume_steps > 0:
        snapshots = SnapshotFile(journal.path.parent, fingerprint(config, space))
    resumed = resume(lambda: live_controller(config, space, make_policy), snapshots, records)
    events = [Event(EventKind.STARTED, f"{config.policy}, mode {config.mode}"), *resumed.events]
    first_step, first_time_s, resumption = 0, 0.0, None
    if records:
        last = records[-1]
        missed = gap(last, wall_s(), step_s)
        for measurement in missed:
            resumed.controller.step(measurement)
        first_step = last.measurement.step + len(missed) + 1
        # The first step comes one step after the start, as it does without any record.
        first_time_s = last.measurement.time_s + len(missed) * step_s
        detail = f"{resumed.source}, {len(missed)} steps missed since"
        events.append(Event(EventKind.RESUMED, detail))
        resumption = Resumption(len(records), resumed.saved_step, len(missed))
    start = Start(wall_s(), version("foresight-autoscaler"), make_policy is not None, space, config)
    try:
        note_start(journal.path.parent, start)
    except OSError as error:
        events.append(Event(EventKind.JOURNAL_UNAVAILABLE, f"start not noted: {error}"))
    snapshot_steps = min(EVERY_STEPS, max(config.journal.resume_steps, 1))
    return ControlLoop(
        resumed.controller,
        cluster,
        Recorder(journal, snapshots, snapshot_steps, listeners),
        Beginning(
            events=tuple(events),
            first_step=first_step,
            first_time_s=first_time_s,
            resumption=resumption,
        ),
        mode=config.mode,
        step_s=step_s,
        power=live_power(config) if config.power.in_watts else None,
        blocked_by=Holds.of(config, journal.path.parent, wall_s).blocking,
        stop=stop or threading.Event(),
        monotonic_s=monotonic_s,
        wall_s=wall_s,
        on_release=on_release,
    )


def open_journal(config: Config, application: str) -> StepJournal:
    """The journal of one application, by its name."""
    name = "".join(letter if letter.isalnum() or letter in "._-" else "_" for letter in application)
    # A name of dots alone would be another folder.
    folder = Path(config.journal.folder) / (name.strip(".") or "application")
    return StepJournal(folder, config.journal.max_mb * 1_000_000)
