"""What a restart costs: replaying the journal against going on from a snapshot.

Each policy drives the Spark-like plant; its measurements then go through a fresh policy once more,
as a restarted controller without a snapshot does. With one, half of the interval between two
snapshots is left to replay on average. Times are CPU times, which other work does not disturb.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from mpc.controller import Controller
from mpc.policies.catalogue import policy_entries
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.run import simulate
from mpc.snapshot import save
from runtime.build import live_controller, live_power, simulated_space
from runtime.config import load_config
from runtime.control.snapshots import EVERY_STEPS, read_state

RESUMABLE = tuple(
    entry.name for entry in policy_entries() if entry.live and (entry.sections or entry.has_table)
)


@dataclass(frozen=True, slots=True)
class ResumeRow:
    policy: str
    steps: int
    replay_ms: float
    """All steps through a fresh policy."""
    resume_ms: float
    """The snapshot read, and the steps of half an interval."""
    times_faster: float
    save_ms: float
    snapshot_kb: float
    same: bool
    """Whether both go on with the same decisions."""


def resume_rows(
    policies: Sequence[str], steps: int, seed: int, begin: Callable[[str], None]
) -> list[ResumeRow]:
    rows = []
    for policy in policies:
        begin(policy)
        rows.append(_resumed(policy, steps, seed))
    return rows


def _resumed(name: str, steps: int, seed: int) -> ResumeRow:
    config = load_config(None, [f"policy={name}", f"seed={seed}"])
    space = simulated_space(config)
    power = live_power(config, space)

    def fresh() -> Controller:
        return live_controller(config, space)

    generator = np.random.default_rng(seed)
    rates = 5000.0 + 3000.0 * np.sin(np.arange(steps + EVERY_STEPS) / 40.0)
    plant = MicroBatchPlant(
        rates * generator.normal(1.0, 0.05, len(rates)).clip(0.5),
        MicroBatchTraits(overhead_s=0.2, row_cycles=2e6, startup_s=2.0),
        power,
        space.largest,
        generator,
    )
    measured = [step.measurement for step in simulate(fresh(), plant).steps]
    later = EVERY_STEPS // 2
    replayed, saved_from = fresh(), fresh()
    for measurement in measured[: steps - later]:
        saved_from.step(measurement)
    start_s = time.process_time()
    data = save(saved_from.state)
    saved_s = time.process_time()
    restored = fresh()
    restored.state = read_state(data)
    for measurement in measured[steps - later : steps]:
        restored.step(measurement)
    resumed_s = time.process_time()
    for measurement in measured[:steps]:
        replayed.step(measurement)
    replayed_s = time.process_time()
    return ResumeRow(
        policy=name,
        steps=steps,
        replay_ms=1e3 * (replayed_s - resumed_s),
        resume_ms=1e3 * (resumed_s - saved_s),
        times_faster=(replayed_s - resumed_s) / (resumed_s - saved_s),
        save_ms=1e3 * (saved_s - start_s),
        snapshot_kb=len(data) / 1e3,
        same=all(
            restored.step(measurement).target == replayed.step(measurement).target
            for measurement in measured[steps:]
        ),
    )
