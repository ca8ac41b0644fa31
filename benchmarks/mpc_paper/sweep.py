"""A whole comparison: all policies, the curve of `foresight` over its knob, and the bound."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np

from benchmarks.mpc_paper.catalogue import clairvoyance
from benchmarks.mpc_paper.comparison import PaperJob, run_job
from benchmarks.mpc_paper.scenarios import ScenarioRequest, build
from benchmarks.policies import check_policies
from benchmarks.results import Comparison, CurvePoint, Limit, Run
from benchmarks.workloads.data import default_data
from mpc.simulation.paper_machine import SPACE
from mpc.simulation.pool import run_all
from runtime.config import Config

CURVE_ALPHAS = (
    0.0003, 0.003, 0.03, 0.06, 0.075, 0.08, 0.085, 0.09, 0.1, 0.11, 0.12, 0.13, 0.14, 0.16, 0.18,
    0.2, 0.22, 0.25, 0.3, 0.4, 0.5, 0.55, 0.58, 0.6, 0.62, 0.65, 0.7, 0.8, 1.0, 1.25, 1.5, 1.75,
    2.0, 2.25, 2.5, 2.75, 3.0, 3.25, 3.5, 3.75, 4.0, 4.5, 8.0,
)  # fmt: skip
"""Dense where the curve bends, so that between two points nothing is left to guess."""


@dataclass(frozen=True, slots=True)
class ComparisonRequest:
    scenario: ScenarioRequest
    policies: tuple[str, ...]
    repeat: int
    seed: int
    config: Config
    curve_repeat: int = 0
    """Repetitions of every point of the curve; 0 leaves the curve and the bound out."""


def compare(
    request: ComparisonRequest, processes: int | None, on_done: Callable[[], None] | None = None
) -> Comparison:
    check_policies(request.policies, SPACE, also=["oracle"])
    scenario = build(request.scenario)
    jobs = [*_policy_jobs(request), *_curve_jobs(request)]
    runs = run_all(run_job, jobs, processes, on_done)
    shown = len(request.policies) * request.repeat
    return Comparison(
        scenario=scenario.name,
        source=scenario.source,
        threshold_s=scenario.threshold_s,
        step_s=scenario.step_s,
        runs=tuple(sorted(runs[:shown], key=lambda run: request.policies.index(run.row.policy))),
        curve=_curve(runs[shown:], request.curve_repeat),
        limit=_limit(request) if request.curve_repeat else (),
    )


def simulate(
    scenario: str = "paper-random-walk",
    policies: Sequence[str] = ("foresight",),
    *,
    repeat: int = 1,
    seed: int = 1,
    config: Config | None = None,
    data: Path | None = None,
) -> Comparison:
    """Run policies on a simulated scenario, in this process, and return every run."""
    request = ComparisonRequest(
        scenario=ScenarioRequest(scenario, data=data or default_data()),
        policies=tuple(policies),
        repeat=repeat,
        seed=seed,
        config=config or Config(),
    )
    return compare(request, processes=1)


def number_of_runs(request: ComparisonRequest) -> int:
    return len(request.policies) * request.repeat + len(CURVE_ALPHAS) * request.curve_repeat


def _policy_jobs(request: ComparisonRequest) -> list[PaperJob]:
    """Seed by seed, so that a worker process draws each trace once."""
    return [
        PaperJob(request.scenario, policy, seed, request.config, policy)
        for seed in range(request.seed, request.seed + request.repeat)
        for policy in request.policies
    ]


def _curve_jobs(request: ComparisonRequest) -> list[PaperJob]:
    return [
        PaperJob(
            request.scenario, "foresight", seed, _with_alpha(request.config, alpha), f"{alpha:g}"
        )
        for seed in range(request.seed, request.seed + request.curve_repeat)
        for alpha in CURVE_ALPHAS
    ]


def _with_alpha(config: Config, alpha: float) -> Config:
    cost = msgspec.structs.replace(config.cost, latency_weight=alpha)
    return msgspec.structs.replace(config, cost=cost)


def _curve(runs: Sequence[Run], repeat: int) -> tuple[CurvePoint, ...]:
    by_alpha = [
        [run.row for run in runs[index :: len(CURVE_ALPHAS)]]
        for index in range(len(CURVE_ALPHAS) if repeat else 0)
    ]
    names = ("violations", "mean_power_w", "reconfigurations")
    return tuple(
        CurvePoint(alpha, *(float(np.mean([getattr(row, name) for row in rows])) for name in names))
        for alpha, rows in zip(CURVE_ALPHAS, by_alpha, strict=False)
    )


def _limit(request: ComparisonRequest) -> tuple[Limit, ...]:
    """The bound on the first seed's trace; seeds differ in it by little."""
    scenario = build(request.scenario)
    known = clairvoyance(scenario, scenario.trace(request.seed))
    return tuple(
        Limit(violations, float(power_w))
        for violations, power_w in enumerate(known.least_power_w())
        if np.isfinite(power_w)
    )
