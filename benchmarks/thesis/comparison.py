"""Runs the experiments and puts the figures that Azimi Gehraz 2018 gives beside them.

Its results are charts; its text has few numbers. What it says without a number is in `claims`.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from benchmarks.thesis.experiments import EXPERIMENTS, ThesisCase
from benchmarks.thesis.run import ThesisFigures, run
from benchmarks.thesis.workload import WORKLOADS, ThesisWorkload, make_workload

PUBLISHED_EXECUTORS = {("learning-factor", "W2", "0.007"): 8.0}
"""Mean executors by experiment, workload and case (section 5.6)."""


@dataclass(frozen=True, slots=True)
class ThesisRow:
    """One case on one workload, averaged over the repetitions. Names are the JSON contract."""

    experiment: str
    section: str
    workload: str
    case: str
    latency_mean_s: float
    """Of the finished batches: mean over their messages, from arrival to result."""
    latency_p10_s: float
    latency_p90_s: float
    latency_max_s: float
    over_target: float
    """Share of the finished batches whose mean latency is above the target."""
    unfinished: float
    """Batches without a result when the hour ended."""
    executors_mean: float
    executors_p10: float
    executors_p90: float
    changes: float
    thesis_executors: float | None
    difference: float | None
    """Ours less the thesis's."""


def compare(
    names: Sequence[str], runs: int, seed: int, begin: Callable[[str], None]
) -> list[ThesisRow]:
    """Every case on both workloads; `begin` gets what is being worked on."""
    workloads = [make_workload(name) for name in WORKLOADS]
    rows = []
    for name in names:
        experiment = EXPERIMENTS[name]
        for workload in workloads:
            for case in experiment.cases(workload.name):
                begin(f"{name} {workload.name} {case.name}")
                figures = repeated(case, workload, runs, seed)
                published = PUBLISHED_EXECUTORS.get((name, workload.name, case.name))
                rows.append(
                    ThesisRow(
                        name,
                        experiment.section,
                        workload.name,
                        case.name,
                        **figures,
                        thesis_executors=published,
                        difference=None
                        if published is None
                        else figures["executors_mean"] - published,
                    )
                )
    return rows


def repeated(case: ThesisCase, workload: ThesisWorkload, runs: int, seed: int) -> ThesisFigures:
    """Averages over the repetitions, as in the thesis (section 5.1). Each has its own seed; every
    case of one seed meets the same plant."""
    outcomes = []
    for number in range(seed, seed + runs):
        policy = case.build(np.random.default_rng([number, 1]))
        plant = np.random.default_rng([number, 2])
        outcomes.append(run(policy, workload, case.target_s, plant, executors=case.executors))
    return {name: float(np.mean([each[name] for each in outcomes])) for name in outcomes[0]}
