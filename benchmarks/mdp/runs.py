"""Which controller runs on which pipeline, as jobs for worker processes."""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from time import process_time

import numpy as np

from benchmarks.mdp.arrivals import Arrivals, taxi_arrivals
from benchmarks.mdp.setting import DISCOUNT, VIOLATION_SMOOTHING, MdpSetting, violations
from benchmarks.mdp.year import SLOTS_A_DAY, MdpOutcome, simulate
from mpc.policies.mdp.controllers import (
    CentralisedMdp,
    CentralisedRl,
    DecentralisedAgents,
    LevelController,
)
from mpc.policies.mdp.learner import ModelBasedLearner
from mpc.values import IntArray

MDP = "centralised MDP"
RL_KNOWN = "centralised RL+"
RL = "centralised RL"
DECENTRALISED = "decentralised U="
"""Followed by the target utilisation."""


@dataclass(frozen=True, slots=True)
class MdpWorkload:
    """The arrivals of one comparison; small, so that worker processes draw their own."""

    data: Path | None
    seed: int
    days: int


@dataclass(frozen=True, slots=True)
class MdpJob:
    workload: MdpWorkload
    setting: MdpSetting
    controller: str


@dataclass(frozen=True, slots=True)
class MdpRun:
    job: MdpJob
    outcome: MdpOutcome
    built_cpu_s: float
    """Solving the problem, or setting up the tables to learn in."""


@lru_cache(maxsize=1)
def drawn(workload: MdpWorkload) -> tuple[Arrivals, IntArray]:
    """The chain and a path of it, the same in every process."""
    generator = np.random.default_rng(workload.seed)
    arrivals = taxi_arrivals(workload.data, generator)
    return arrivals, arrivals.draw(workload.days * SLOTS_A_DAY, generator)


def make_controller(name: str, setting: MdpSetting, arrivals: Arrivals) -> LevelController:
    levels = len(arrivals.transitions)
    instances, weights = setting.instances, setting.weights
    known = violations(setting, levels)
    if name == MDP:
        return CentralisedMdp(arrivals.transitions, known, instances, weights, DISCOUNT)
    if name in {RL_KNOWN, RL}:
        learner = ModelBasedLearner(
            levels,
            instances,
            weights,
            known_violations=known if name == RL_KNOWN else None,
            discount=DISCOUNT,
            violation_smoothing=VIOLATION_SMOOTHING,
        )
        return CentralisedRl(learner)
    if name.startswith(DECENTRALISED):
        target = float(name.removeprefix(DECENTRALISED))
        return DecentralisedAgents(
            levels, instances, weights, target, DISCOUNT, VIOLATION_SMOOTHING
        )
    raise ValueError(f"unknown controller {name!r}")


def run(job: MdpJob) -> MdpRun:
    arrivals, levels = drawn(job.workload)
    began_s = process_time()
    controller = make_controller(job.controller, job.setting, arrivals)
    built_cpu_s = process_time() - began_s
    return MdpRun(job, simulate(job.setting, levels, controller), built_cpu_s)
