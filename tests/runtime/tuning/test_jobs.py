"""One simulation is deterministic and counts alike at any step; a tuning resumes and repeats."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from forecasting.profile import DAY_S
from mpc.simulation.micro_batch import FinishedBatch
from mpc.simulation.pool import Job, Result, WorkerPool
from mpc.simulation.row_queue import TakenRows
from mpc.values import BatchSample, Configuration
from runtime.config import load_config
from runtime.tuning.choice import Aim
from runtime.tuning.cluster import fitted_to, sized_for
from runtime.tuning.jobs import run_job
from runtime.tuning.knobs import Knobs
from runtime.tuning.outcome import TuningOutcome, counted
from runtime.tuning.search import SearchPlan
from runtime.tuning.state import TuningState
from runtime.tuning.trace import Trace, TraceBlock
from runtime.tuning.tune import Simulations, Tuning, check_pieces, checked, tuned, tuned_toml
from tests.runtime.control.records import plain_record
from tests.runtime.tuning.made import small_task, wave

PLAN = SearchPlan(
    candidates=4,
    folds=2,
    blocks_per_fold=1,
    block_s=240.0,
    first_blocks=1,
    second_blocks=1,
    survivors=2,
    neighbours=1,
    finalists=2,
    proof_blocks_per_fold=1,
)


class Interrupted(WorkerPool):
    """Gives up after a number of jobs, as Ctrl-C does."""

    def __init__(self, after: int) -> None:
        super().__init__(1)
        self.left = after
        self.ran = 0

    def run(
        self, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        for pair in super().run(function, jobs):
            if not self.left:
                raise KeyboardInterrupt
            self.left -= 1
            self.ran += 1
            yield pair


def _tuned(state: TuningState, runner: WorkerPool) -> Tuning:
    simulations = Simulations(small_task(), runner, state, lambda: None)
    return tuned(simulations, 1200.0, PLAN, Aim())


def test_a_job_gives_the_same_outcome_every_time() -> None:
    task = small_task()
    job = task.job(Knobs.of(task.config), TraceBlock(0, 300.0, 600.0))
    outcome = run_job(job)
    assert outcome == run_job(job)
    assert outcome.windows == 60
    assert outcome.energy_j > 0


def test_the_warm_up_is_taken_from_before_the_block() -> None:
    task = small_task()
    job = task.job(Knobs.of(task.config), TraceBlock(0, 300.0, 600.0))
    assert job.trace.duration_s == 420.0
    assert job.warm_up_s == 120.0
    first = task.job(Knobs.of(task.config), TraceBlock(0, 0.0, 100.0))
    assert first.warm_up_s == 25.0


def test_days_before_a_block_are_remembered_and_nothing_of_the_block_itself() -> None:
    task = small_task()
    begin_s = 20_000 * DAY_S
    rates = 1000.0 + 500.0 * np.sin(2 * np.pi * np.arange(2 * 1440) / 1440)
    trace = Trace(rates, 60.0, "two days", begin_s)
    knobs, noon_s = Knobs.of(task.config), DAY_S + 43_200.0
    job = replace(task, trace=trace).job(knobs, TraceBlock(0, noon_s, noon_s + 240.0))
    assert job.memory is not None
    assert job.memory.spans_a_day
    assert {profile.until_s for profile in job.memory.profiles} == {begin_s + noon_s - 120.0}
    assert run_job(job) == run_job(job)
    first = replace(task, trace=trace).job(knobs, TraceBlock(0, 43_200.0, 43_440.0))
    assert first.memory is None
    unknown = replace(task, trace=replace(trace, begin_s=None))
    assert unknown.job(knobs, TraceBlock(0, noon_s, noon_s + 240.0)).memory is None


def _batch(finished_s: float, latency_s: float) -> FinishedBatch:
    arrived_s = finished_s - latency_s
    rows = TakenRows(
        rows=10, arrival_sum_s=10 * arrived_s, first_arrival_s=arrived_s, last_arrival_s=arrived_s
    )
    return FinishedBatch(arrived_s, finished_s, rows, 1.0, Configuration(1, 1))


@pytest.mark.parametrize("step_s", [1.0, 5.0])
def test_windows_are_the_same_at_any_step(step_s: float) -> None:
    steps = round(30 / step_s)
    batches = [_batch(12.0, 1.0), _batch(17.0, 4.5), _batch(22.0, 6.0)]
    places = [Configuration(1, 1)] * (steps - 1) + [Configuration(2, 1)]
    outcome = counted(batches, [10.0] * steps, places, step_s=step_s, target_s=5.0, warm_up_s=10.0)
    # Four windows: fine, close, over the target, and one without any result.
    assert outcome == TuningOutcome(4, 2, 3, 200.0, 1, 20.0)


def test_an_interrupted_tuning_goes_on_to_the_same_result(tmp_path: Path) -> None:
    fingerprint = small_task().fingerprint
    whole = _tuned(TuningState(None, fingerprint), WorkerPool(1))
    file = tmp_path / "state.json"
    with pytest.raises(KeyboardInterrupt):
        _tuned(TuningState(file, fingerprint), Interrupted(5))
    kept = TuningState(file, fingerprint)
    assert kept.known == 5
    rest = Interrupted(1000)
    assert _tuned(kept, rest) == whole
    again = Interrupted(0)
    assert _tuned(TuningState(file, fingerprint), again) == whole
    assert rest.ran + 5 == TuningState(file, fingerprint).known


def test_processes_give_what_one_process_gives() -> None:
    task = small_task()
    blocks = (TraceBlock(0, 60.0, 180.0), TraceBlock(0, 300.0, 420.0))
    jobs = [task.job(Knobs.of(task.config), block) for block in blocks]
    with WorkerPool(2) as pool:
        assert dict(pool.run(run_job, jobs)) == dict(WorkerPool(1).run(run_job, jobs))


def test_a_state_of_another_task_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "state.json"
    outcome = TuningOutcome(1, 0, 0, 1.0, 0, 5.0)
    TuningState(file, small_task().fingerprint).put("one", outcome)
    assert TuningState(file, small_task().fingerprint).get("one") == outcome
    with pytest.raises(ValueError, match="another trace"):
        TuningState(file, small_task(seed=2).fingerprint)
    file.write_text("{")
    with pytest.raises(ValueError, match="not the state"):
        TuningState(file, "x")


def test_a_trace_too_short_for_its_folds_is_refused() -> None:
    simulations = Simulations(small_task(), WorkerPool(1), TuningState(None, ""), lambda: None)
    with pytest.raises(ValueError, match="4 folds need 960 s"):
        tuned(simulations, 900.0, SearchPlan(), Aim())


def test_the_check_covers_everything_unseen() -> None:
    pieces = check_pieces(10_000.0, 4_000.0)
    assert pieces[0].begin_s == 4_000.0
    assert pieces[-1].end_s == pytest.approx(10_000.0)
    for one, other in pairwise(pieces):
        assert one.end_s == pytest.approx(other.begin_s)
    task = small_task()
    done: list[int] = []
    simulations = Simulations(task, WorkerPool(1), TuningState(None, ""), lambda: done.append(1))
    (outcome,) = checked(simulations, 900.0, [Knobs.of(task.config)])
    assert outcome.windows == 60
    assert len(done) == 1


def test_the_file_says_what_differs_and_reads_back(tmp_path: Path) -> None:
    config = load_config(
        None, ["cost.gamma=0.01", "frequency.list_khz=[1200000]", "policies.hpa.tolerance=0.2"]
    )
    text = tuned_toml(config, ["tuned"])
    file = tmp_path / "tuned.toml"
    file.write_text(text)
    assert load_config(file) == config
    assert text.count("=") == 3
    assert text.startswith("# tuned\n")


def test_a_journal_tells_the_cost_of_a_row() -> None:
    trace = wave()
    sized = sized_for(trace, small_task().config)
    random = np.random.default_rng(1)
    records = []
    for step in range(100):
        rows = int(random.integers(1000, 9000))
        sample = BatchSample(rows, 0.5 + rows * 1e6 / (2 * 2e9), Configuration(2, 2_000_000))
        record = plain_record(step)
        records.append(
            replace(
                record,
                measurement=replace(record.measurement, batches=(sample,), trigger_interval_s=3.0),
                dead_time_s=6.0,
            )
        )
    fitted = fitted_to(records, sized)
    assert fitted.row_cycles == pytest.approx(1e6, rel=0.02)
    assert fitted.overhead_s == pytest.approx(0.5, rel=0.1)
    assert (fitted.trigger_interval_s, fitted.startup_s) == (3.0, 6.0)
    assert fitted_to(records[:3], sized).row_cycles == sized.row_cycles
