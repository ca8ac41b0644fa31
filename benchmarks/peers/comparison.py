"""Runs the policies on one trace, in parallel processes, and measures what each made of it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from benchmarks.peers.catalogue import EXECUTORS_ONLY, make_policy, space_of
from benchmarks.peers.setting import SPACE, PeerSetting, load
from benchmarks.policies import check_policies, descent_of
from benchmarks.results import (
    Comparison,
    LatencyFigures,
    Row,
    Run,
    Series,
    simulated_figures,
)
from mpc.controller import Controller
from mpc.simulation.micro_batch import MicroBatchPlant, latency_quantiles_s
from mpc.simulation.pool import run_all
from mpc.simulation.run import simulate
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
class PeerJob:
    setting: PeerSetting
    policy: str
    seed: int
    config: Config


@dataclass(frozen=True, slots=True)
class PeerRun:
    row: PeerRow
    run: Run
    """The same for the report, with its series."""


def compare(
    setting: PeerSetting,
    policies: Sequence[str],
    config: Config,
    *,
    repeat: int = 1,
    seed: int = 1,
    processes: int | None = 1,
    on_done: Callable[[], None] | None = None,
) -> tuple[list[PeerRow], Comparison]:
    """Every policy with every seed, in this order; `on_done` is called as each finishes."""
    check_policies(policies, SPACE, also=[EXECUTORS_ONLY])
    source = load(setting).source  # a bad file is refused before any process starts
    jobs = [
        PeerJob(setting, policy, seed + repetition, config)
        for policy in policies
        for repetition in range(repeat)
    ]
    runs = run_all(run_job, jobs, processes, on_done)
    comparison = Comparison(
        scenario="peers",
        source=source,
        threshold_s=setting.target_s,
        step_s=setting.step_s,
        runs=tuple(run.run for run in runs),
    )
    return [run.row for run in runs], comparison


def run_job(job: PeerJob) -> PeerRun:
    plant = job.setting.plant(load(job.setting).rates_per_s, job.seed)
    policy = make_policy(job.policy, job.setting, job.config, job.seed)
    setting, space = job.setting, space_of(job.policy)
    descent = descent_of(job.policy, job.config)
    controller = Controller.of(policy, space, setting.target_s, setting.step_s, descent)
    simulated = simulate(controller, plant)
    series = Series.of(plant.records, simulated.expected_per_s)
    run = Run(_row(job, plant, simulated.decision_ms), series, len(plant.finished))
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


def _trace_name(setting: PeerSetting) -> str:
    return setting.rates_file.name.removesuffix(".gz").removesuffix(".csv")


def _row(job: PeerJob, plant: MicroBatchPlant, decision_ms: Sequence[float]) -> Row:
    """Starting executors count, too."""
    figures = simulated_figures(plant.records, job.setting.step_s, job.setting.target_s)
    with_starting = replace(
        figures, mean_executors=plant.executor_s / (figures.steps * job.setting.step_s)
    )
    rows = sum(batch.rows.rows for batch in plant.finished)
    p95_s, p99_s = latency_quantiles_s(plant.finished, [0.95, 0.99])
    mean_s = sum(batch.latency_sum_s for batch in plant.finished) / rows
    latencies_s = LatencyFigures(mean_s, float(p95_s), float(p99_s))
    return Row.of(job.policy, job.seed, with_starting, latencies_s, decision_ms)
