"""Whatever runs a policy runs the controller around it: a policy that wants one executor is kept
from it while the stream is late, and only then, live, replayed, asked what if, simulated and tuned.
"""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.run import simulate
from mpc.values import Configuration
from runtime.build import live_controller, live_power, simulated_space
from runtime.config import Config, load_config
from runtime.control.starts import Start
from runtime.insight.journals import recorded_run
from runtime.insight.replay import replayed
from runtime.insight.whatif import other_run
from runtime.tuning.cluster import sized_for
from runtime.tuning.jobs import TuningJob, run_job
from tests.runtime.control.cluster import SHORT, LoopRun
from tests.runtime.tuning.made import wave
from tests.support.simulated_records import simulated_records

LATE, IN_TIME = "slo.latency_ms=20", "slo.latency_ms=600000"
STEPS = 12


def with_options(*options: str) -> Config:
    return load_config(None, ("executors.max=4", "power.full_power_w=100", *options))


def start_with(*options: str) -> Start:
    config = with_options(*options)
    return Start(0.0, "test", False, simulated_space(config), config)


def plant(start: Start) -> MicroBatchPlant:
    return MicroBatchPlant(
        np.full(STEPS, 500.0),
        MicroBatchTraits(overhead_s=0.2, row_cycles=1e6, startup_s=1.0),
        live_power(start.config, start.space),
        Configuration(2, 2_000_000),
        np.random.default_rng(1),
    )


def live(folder: Path, target: str) -> Sequence[int]:
    seen = LoopRun(folder, (*SHORT, "policy=static-1", target), steps=STEPS).run()
    return [record.target.executors for record in seen]


def replayed_journal(folder: Path, target: str) -> Sequence[int]:
    live(folder, target)
    return [step.decided.target.executors for step in replayed(recorded_run(folder))]


def what_if(_folder: Path, target: str) -> Sequence[int]:
    own = start_with("policy=static-2", IN_TIME)
    other = start_with("policy=static-1", target)
    recorded = list(simulated_records(live_controller(own.config, own.space), plant(own)))
    return [step.decided.target.executors for step in other_run(recorded, own, other)]


def simulated(_folder: Path, target: str) -> Sequence[int]:
    start = start_with("policy=static-1", target)
    run = simulate(live_controller(start.config, start.space), plant(start))
    return [step.applied.requested.executors for step in run.steps]


def tuned(_folder: Path, target: str) -> Sequence[int]:
    """A job tells how often the configuration changed: from the largest down to one, or never."""
    # Batches begin two seconds apart: every step of five has a result to be late with.
    config, trace = with_options("policy=static-1", "horizon.step_s=5", target), wave(60)
    outcome = run_job(TuningJob(config, sized_for(trace, config), trace, 0.0, (1, 1)))
    return [1 if outcome.reconfigurations else 2]


@pytest.mark.parametrize("run", [live, replayed_journal, what_if, simulated, tuned])
def test_nothing_is_given_up_while_late(
    tmp_path: Path, run: Callable[[Path, str], Sequence[int]]
) -> None:
    assert set(run(tmp_path / "late", LATE)) == {2}
    assert run(tmp_path / "in time", IN_TIME)[-1] == 1
