"""Runs policies side by side on one scenario and measures them by the SASO properties.

Independent runs are spread over processes. Every run of one seed gets the same tuples, so that
policies differ and nothing else.
"""

import math
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from multiprocessing import get_context

import numpy as np

from benchmarks.mpc_paper.catalogue import make_policy
from benchmarks.mpc_paper.scenarios import Scenario, ScenarioRequest, build
from benchmarks.results import Row, Run, Series
from mpc.bounds import Bounds
from mpc.loop import control
from mpc.ports import Policy
from mpc.simulation.operator import OperatorPlant, StepRecord
from mpc.simulation.paper_machine import CYCLES_PER_POINT, SPACE, core_power
from mpc.simulation.trace import TriggerTrace
from mpc.values import Configuration, Decision, Measurement
from runtime.config import Config


@dataclass(frozen=True, slots=True)
class Job:
    """What one worker process does; picklable."""

    request: ScenarioRequest
    policy: str
    seed: int
    config: Config
    label: str
    """The name in the results: the policy's, or one that also tells its parameters."""


class TimedPolicy:
    """A policy with a stopwatch around each decision."""

    def __init__(self, policy: Policy) -> None:
        self._policy = policy
        self.decision_ms: list[float] = []

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        begin = time.perf_counter()
        decision = self._policy.decide(measurement, bounds)
        self.decision_ms.append((time.perf_counter() - begin) * 1e3)
        return decision


def run_jobs(
    jobs: Sequence[Job], processes: int, on_done: Callable[[Run], None] | None = None
) -> list[Run]:
    """All runs in the order of `jobs`; `on_done` is called as each finishes."""
    if processes <= 1 or len(jobs) == 1:
        runs = []
        for job in jobs:
            runs.append(run_job(job))
            if on_done:
                on_done(runs[-1])
        return runs
    done: dict[int, Run] = {}
    # spawn: a fork would inherit the threads of numerical libraries in an unknown state.
    with ProcessPoolExecutor(min(processes, len(jobs)), mp_context=get_context("spawn")) as pool:
        futures = {pool.submit(run_job, job): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                done[futures[future]] = future.result()
                if on_done:
                    on_done(future.result())
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
    return [done[index] for index in range(len(jobs))]


def run_job(job: Job) -> Run:
    scenario = _scenario(job.request)
    trace = _trace(job.request, job.seed)
    plant = OperatorPlant(trace, SPACE, core_power(), CYCLES_PER_POINT, scenario.step_s)
    timed = TimedPolicy(make_policy(job.policy, scenario, trace, job.config))
    steps = list(control(timed, SPACE, plant, plant, plant))
    expected = [None, *(_next_step(step.decision) for step in steps[:-1])]
    row = measure_row(job.label, job.seed, plant, scenario, timed.decision_ms)
    return Run(row, _series(plant.records, expected), windows=len(trace.time_s))


@lru_cache(maxsize=1)
def _scenario(request: ScenarioRequest) -> Scenario:
    return build(request)


@lru_cache(maxsize=1)
def _trace(request: ScenarioRequest, seed: int) -> TriggerTrace:
    return _scenario(request).trace(seed)


def _next_step(decision: Decision) -> float | None:
    expected = decision.expected_arrivals_per_s
    return None if expected is None else float(expected[0])


def measure_row(
    label: str,
    seed: int,
    plant: OperatorPlant,
    scenario: Scenario,
    decision_ms: Sequence[float],
) -> Row:
    """The SASO properties of one run (De Matteis and Mencagli 2016, section 2.1).

    Every policy finds all replicas at full speed. Its first decision is its initial placement and
    no reconfiguration; every later change of executors or frequency is one (section 5.3.1).
    """
    records = plant.records
    used = [record.configuration for record in records]
    changes = [(old, new) for old, new in pairwise(used[1:]) if old != new]
    violations = sum(record.violates(scenario.threshold_s) for record in records)
    power_w = [record.power_w for record in records]
    latencies_s = plant.result_latencies_s
    return Row(
        policy=label,
        seed=seed,
        steps=len(records),
        violations=violations,
        violation_fraction=violations / len(records),
        reconfigurations=len(changes),
        executor_changes=sum(old.executors != new.executors for old, new in changes),
        frequency_changes=sum(old.frequency_khz != new.frequency_khz for old, new in changes),
        mean_executors=float(np.mean([configuration.executors for configuration in used])),
        mean_power_w=float(np.mean(power_w)),
        energy_j=float(np.sum(power_w) * scenario.step_s),
        amplitude=float(np.mean([configuration_distance(*change) for change in changes]))
        if changes
        else 0.0,
        latency_mean_s=float(latencies_s.mean()),
        latency_p95_s=float(np.percentile(latencies_s, 95)),
        latency_p99_s=float(np.percentile(latencies_s, 99)),
        decision_ms_p50=float(np.percentile(decision_ms, 50)),
        decision_ms_p99=float(np.percentile(decision_ms, 99)),
    )


def configuration_distance(old: Configuration, new: Configuration) -> float:
    """Section 5.3.4: Euclidean, with frequencies counted in steps of 0.1 GHz."""
    return math.hypot(
        new.executors - old.executors, (new.frequency_khz - old.frequency_khz) / 100_000
    )


def _series(records: Sequence[StepRecord], expected: Sequence[float | None]) -> Series:
    return Series(
        arrivals_per_s=tuple(record.arrivals_per_s for record in records),
        expected_per_s=tuple(expected),
        executors=tuple(record.configuration.executors for record in records),
        frequency_khz=tuple(record.configuration.frequency_khz for record in records),
        latency_s=tuple(record.latency_s for record in records),
        power_w=tuple(record.power_w for record in records),
    )
