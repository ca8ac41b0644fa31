"""Runs the policies on one trace, in parallel processes, and measures what each made of it."""

from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import pairwise
from multiprocessing import get_context

import numpy as np

from benchmarks.mpc_paper.comparison import TimedPolicy, configuration_distance
from benchmarks.peers.catalogue import EXECUTORS_ONLY, make_policy, space_of
from benchmarks.peers.setting import SPACE, Setting, load
from benchmarks.policies import check_policies
from benchmarks.results import Comparison, Row, Run, Series
from mpc.loop import ControlStep, control
from mpc.simulation.micro_batch import MicroBatchPlant, latency_quantiles_s
from runtime.config import Config


@dataclass(frozen=True, slots=True)
class PeerRow:
    """One run. Names are part of the JSON contract."""

    policy: str
    trace: str
    seed: int
    steps: int
    over_target_fraction: float
    """Share of the steps whose mean latency was over the target, or that had no result at all."""
    executor_hours: float
    """Starting executors count, too."""
    energy_j: float
    reconfigurations: int
    latency_mean_s: float
    latency_p95_s: float
    latency_p99_s: float
    decision_ms_p50: float


@dataclass(frozen=True, slots=True)
class Job:
    setting: Setting
    policy: str
    seed: int
    config: Config


@dataclass(frozen=True, slots=True)
class PeerRun:
    row: PeerRow
    run: Run
    """The same for the report, with its series."""


def compare(
    setting: Setting,
    policies: Sequence[str],
    config: Config,
    *,
    repeat: int = 1,
    seed: int = 1,
    processes: int = 1,
    on_done: Callable[[PeerRun], None] | None = None,
) -> tuple[list[PeerRow], Comparison]:
    """Every policy with every seed, in this order; `on_done` is called as each finishes."""
    check_policies(policies, SPACE, also=[EXECUTORS_ONLY])
    source = load(setting).source  # a bad file is told before any process starts
    jobs = [
        Job(setting, policy, seed + repetition, config)
        for policy in policies
        for repetition in range(repeat)
    ]
    runs = _run_all(jobs, processes, on_done)
    comparison = Comparison(
        scenario="peers",
        source=source,
        threshold_s=setting.target_s,
        step_s=setting.step_s,
        runs=tuple(run.run for run in runs),
    )
    return [run.row for run in runs], comparison


def _run_all(
    jobs: Sequence[Job], processes: int, on_done: Callable[[PeerRun], None] | None
) -> list[PeerRun]:
    done: dict[int, PeerRun] = {}

    def finish(index: int, run: PeerRun) -> None:
        done[index] = run
        if on_done:
            on_done(run)

    if processes <= 1 or len(jobs) == 1:
        for index, job in enumerate(jobs):
            finish(index, run_job(job))
        return [done[index] for index in range(len(jobs))]
    # spawn: a fork would inherit the threads of numerical libraries in an unknown state.
    with ProcessPoolExecutor(min(processes, len(jobs)), mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_job, job): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                finish(futures[future], future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[index] for index in range(len(jobs))]


def run_job(job: Job) -> PeerRun:
    plant = job.setting.plant(load(job.setting).rates_per_s, job.seed)
    timed = TimedPolicy(make_policy(job.policy, job.setting, job.config, job.seed))
    steps = list(control(timed, space_of(job.policy), plant, plant, plant))
    run = Run(_row(job, plant, timed.decision_ms), _series(plant, steps), len(plant.finished))
    row = run.row
    return PeerRun(
        PeerRow(
            policy=row.policy,
            trace=_trace_name(job.setting),
            seed=row.seed,
            steps=row.steps,
            over_target_fraction=row.violation_fraction,
            executor_hours=plant.executor_s / 3600.0,
            energy_j=row.energy_j,
            reconfigurations=row.reconfigurations,
            latency_mean_s=row.latency_mean_s,
            latency_p95_s=row.latency_p95_s,
            latency_p99_s=row.latency_p99_s,
            decision_ms_p50=row.decision_ms_p50,
        ),
        run,
    )


def _trace_name(setting: Setting) -> str:
    return setting.rates_file.name.removesuffix(".gz").removesuffix(".csv")


def _row(job: Job, plant: MicroBatchPlant, decision_ms: Sequence[float]) -> Row:
    """As the other comparisons count: the first decision places, and is no reconfiguration."""
    records = plant.records
    changes = [
        (old.configuration, new.configuration)
        for old, new in pairwise(records[1:])
        if old.configuration != new.configuration
    ]
    violations = sum(record.violates(job.setting.target_s) for record in records)
    power_w = [record.power_w for record in records]
    rows = sum(batch.rows.rows for batch in plant.finished)
    p95_s, p99_s = latency_quantiles_s(plant.finished, [0.95, 0.99])
    return Row(
        policy=job.policy,
        seed=job.seed,
        steps=len(records),
        violations=violations,
        violation_fraction=violations / len(records),
        reconfigurations=len(changes),
        executor_changes=sum(old.executors != new.executors for old, new in changes),
        frequency_changes=sum(old.frequency_khz != new.frequency_khz for old, new in changes),
        mean_executors=plant.executor_s / (len(records) * job.setting.step_s),
        mean_power_w=float(np.mean(power_w)),
        energy_j=float(np.sum(power_w) * job.setting.step_s),
        amplitude=float(np.mean([configuration_distance(*change) for change in changes]))
        if changes
        else 0.0,
        latency_mean_s=sum(batch.latency_sum_s for batch in plant.finished) / rows,
        latency_p95_s=float(p95_s),
        latency_p99_s=float(p99_s),
        decision_ms_p50=float(np.percentile(decision_ms, 50)),
        decision_ms_p99=float(np.percentile(decision_ms, 99)),
    )


def _series(plant: MicroBatchPlant, steps: Sequence[ControlStep]) -> Series:
    records = plant.records
    forecasts = [step.decision.expected_arrivals_per_s for step in steps[:-1]]
    return Series(
        arrivals_per_s=tuple(record.arrivals_per_s for record in records),
        expected_per_s=(
            None,
            *(None if forecast is None else float(forecast[0]) for forecast in forecasts),
        ),
        executors=tuple(record.configuration.executors for record in records),
        frequency_khz=tuple(record.configuration.frequency_khz for record in records),
        latency_s=tuple(record.latency_s for record in records),
        power_w=tuple(record.power_w for record in records),
    )
