"""A whole tuning: searches on the trace, chooses, and checks the choice on what it never saw."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import ceil
from typing import Protocol

import msgspec
import numpy as np

from runtime.config import Config
from runtime.config.toml_text import toml_document
from runtime.tuning.choice import Aim, TuningChoice, choose
from runtime.tuning.jobs import Task, TuningJob, job_key, run_job
from runtime.tuning.knobs import Knobs, KnobSpace, steps_for
from runtime.tuning.outcome import TuningOutcome
from runtime.tuning.search import Candidate, SearchPlan, evaluated, hardest_first, search
from runtime.tuning.state import TuningState
from runtime.tuning.trace import TraceBlock, blocks_of

CHECK_S = 1800.0
"""The unseen part runs whole, in pieces of about this length side by side."""
SHORTEST_S = 240.0
"""A trace must have a few minutes for each fold."""


@dataclass(frozen=True, slots=True)
class Tuning:
    present: Candidate
    choice: TuningChoice
    blocks: tuple[TraceBlock, ...]
    """What the present configuration and the finalists ran on."""


class Runner(Protocol):
    """A `WorkerPool`, or a Spark cluster (`spark_runner`)."""

    def run(
        self, function: Callable[[TuningJob], TuningOutcome], jobs: Sequence[TuningJob]
    ) -> Iterator[tuple[int, TuningOutcome]]:
        """The position of a job and what came of it, as each finishes."""


@dataclass(frozen=True, slots=True)
class Simulations:
    """Runs what is not known yet; everything that has been asked for is told as finished."""

    task: Task
    runner: Runner
    state: TuningState
    on_done: Callable[[], None]

    def evaluate(self, wanted: Sequence[tuple[Knobs, TraceBlock]]) -> list[TuningOutcome]:
        keys = [job_key(knobs, block) for knobs, block in wanted]
        missing = {
            key: pair for key, pair in zip(keys, wanted, strict=True) if self.state.get(key) is None
        }
        for _ in range(len(wanted) - len(missing)):
            self.on_done()
        names = list(missing)
        jobs = [self.task.job(knobs, block) for knobs, block in missing.values()]
        for index, outcome in self.runner.run(run_job, jobs):
            self.state.put(names[index], outcome)
            self.on_done()
        found = [self.state.get(key) for key in keys]
        return [outcome for outcome in found if outcome is not None]


def tuned(simulations: Simulations, end_s: float, plan: SearchPlan, aim: Aim) -> Tuning:
    """Searches on the trace up to `end_s`."""
    task = simulations.task
    if end_s < SHORTEST_S * plan.folds:
        raise ValueError(
            f"{task.trace.source}: {end_s:.0f} s to tune on, and {plan.folds} folds need "
            f"{SHORTEST_S * plan.folds:.0f} s"
        )
    blocks = hardest_first(
        task.trace, blocks_of(end_s, plan.folds, plan.blocks_per_fold, plan.block_s)
    )
    proofs = blocks_of(end_s, plan.folds, plan.proof_blocks_per_fold, plan.proof_block_s)
    base = Knobs.of(task.config)
    dead_time_s = task.config.limits.dead_time_s
    space = KnobSpace(base, steps_for(task.trace.bin_s, base.step_s, dead_time_s), dead_time_s)
    random = np.random.default_rng(task.seed)
    present, finalists = search(space, blocks, proofs, plan, simulations.evaluate, aim.cost, random)
    return Tuning(present, choose(present, finalists, proofs, aim), proofs)


def checked(
    simulations: Simulations, begin_s: float, candidates: Sequence[Knobs]
) -> list[TuningOutcome]:
    """Each candidate on the whole trace from `begin_s` on."""
    pieces = check_pieces(simulations.task.trace.duration_s, begin_s)
    return [each.total for each in evaluated(candidates, pieces, simulations.evaluate)]


def check_pieces(duration_s: float, begin_s: float) -> tuple[TraceBlock, ...]:
    length_s = duration_s - begin_s
    pieces = max(ceil(length_s / CHECK_S), 1)
    return blocks_of(length_s, 1, pieces, length_s, begin_s)


def tuned_toml(config: Config, head: Sequence[str]) -> str:
    """Every option that is not at its default, below comment lines."""
    changed = _changed(msgspec.to_builtins(config), msgspec.to_builtins(Config()))
    return toml_document(changed, head)


def _changed(options: dict[str, object], defaults: dict[str, object]) -> dict[str, object]:
    changed: dict[str, object] = {}
    for name, value in options.items():
        default = defaults.get(name)
        if isinstance(value, dict) and isinstance(default, dict):
            if inner := _changed(value, default):
                changed[name] = inner
        elif value != default:
            changed[name] = value
    return changed
