"""Puts a control loop together from a configuration and a cluster.

Here is what a start means: read the journal, build the controller, take over what an earlier run
saved of it or let it learn from what was journaled, and begin where that run ended. Knows no Spark.
"""

import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path

from mpc.events import Event, EventKind
from mpc.ports import Policy
from mpc.values import ConfigurationSpace, Measurement
from runtime.build import check_policy, live_controller, live_power, live_space
from runtime.config import Config
from runtime.control.cluster import LiveCluster
from runtime.control.holds import Holds
from runtime.control.journal import Resumption, StepJournal, StepRecord, read
from runtime.control.loop import Beginning, ControlLoop
from runtime.control.memory_file import MemoryFile, give_memory, learned_from
from runtime.control.preparation import Preparation, Prepared
from runtime.control.recorder import Listener, Recorder
from runtime.control.resume import gap, resume
from runtime.control.snapshots import EVERY_STEPS, SnapshotFile, fingerprint
from runtime.control.starts import Start, note_start

PolicyFactory = Callable[[ConfigurationSpace, float], Policy]
"""From what can be chosen and the configured dead time in seconds, 0 where it is learned: then each
measurement says it, as `startup_s`."""


def control_loop(
    config: Config,
    cluster: LiveCluster,
    journal: StepJournal,
    records: tuple[StepRecord, ...],
    make_policy: PolicyFactory | None = None,
    listeners: Sequence[Listener] = (),
    on_release: Callable[[], None] = lambda: None,
    *,
    in_background: bool = False,
    stop: threading.Event | None = None,
    monotonic_s: Callable[[], float] = time.monotonic,
    wall_s: Callable[[], float] = time.time,
) -> ControlLoop:
    """A loop that is ready to start, with a controller that has learned from the records.

    `in_background`: the controller comes later, and the loop holds until then. `make_policy`
    replaces the policy of the configuration. `ValueError` for a configuration that
    cannot run on this cluster.
    """
    hosts = cluster.host_frequencies
    space = live_space(config, cluster.most_executors, hosts)
    step_s = config.horizon.step_s
    snapshots = None
    # What a policy that came with the call is built from is unknown, so it is not saved.
    if make_policy is None and config.journal.resume_steps > 0:
        snapshots = SnapshotFile(journal.path.parent, fingerprint(config, space))
    memory_file = MemoryFile(journal.path.parent)
    first_step, first_time_s = 0, 0.0
    missed: tuple[Measurement, ...] = ()
    if records:
        last = records[-1]
        missed = gap(last, wall_s(), step_s)
        first_step = last.measurement.step + len(missed) + 1
        # The first step comes one step after the start, as it does without any record.
        first_time_s = last.measurement.time_s + len(missed) * step_s
    check_policy(config, space, given=make_policy is not None)
    unnoted: list[Event] = []

    def prepare() -> Prepared:
        resumed = resume(lambda: live_controller(config, space, make_policy), snapshots, records)
        # A snapshot has its own. Replayed steps must not meet a memory of themselves: it comes
        # after them.
        remembered = resumed.saved_step is None and give_memory(
            resumed.controller, learned_from(read(journal.path.parent), step_s, memory_file.read())
        )
        events = [Event(EventKind.STARTED, f"{config.policy}, mode {config.mode}")]
        events += [*resumed.events, *unnoted]
        resumption = None
        if records:
            for measurement in missed:
                resumed.controller.step(measurement)
            detail = f"{resumed.source}, {len(missed)} steps missed since"
            events.append(Event(EventKind.RESUMED, detail))
            resumption = Resumption(len(records), resumed.saved_step, len(missed))
        if remembered:
            resumption = replace(resumption or Resumption(0, None, 0), remembered=True)
        return Prepared(resumed.controller, tuple(events), resumption)

    start = Start(
        wall_s(), version("foresight-autoscaler"), make_policy is not None, space, config, hosts
    )
    try:
        note_start(journal.path.parent, start)
    except OSError as error:
        unnoted.append(Event(EventKind.JOURNAL_UNAVAILABLE, f"start not noted: {error}"))
    snapshot_steps = min(EVERY_STEPS, max(config.journal.resume_steps, 1))
    return ControlLoop(
        Preparation(prepare, in_background=in_background),
        cluster,
        Recorder(journal, snapshots, snapshot_steps, listeners, memory_file),
        Beginning(first_step=first_step, first_time_s=first_time_s),
        mode=config.mode,
        step_s=step_s,
        power=live_power(config, space) if config.power.in_watts else None,
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
