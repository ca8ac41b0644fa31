"""One policy on one scenario, measured by the SASO properties.

Every run of one seed gets the same tuples, so that policies differ and nothing else.
"""

import math
from dataclasses import dataclass
from functools import lru_cache

from benchmarks.mpc_paper.catalogue import make_policy
from benchmarks.mpc_paper.scenarios import Scenario, ScenarioRequest, build
from benchmarks.policies import descent_of
from benchmarks.results import LatencyFigures, Row, Run, Series, simulated_figures
from mpc.controller import Controller
from mpc.simulation.operator import OperatorPlant
from mpc.simulation.paper_machine import CYCLES_PER_POINT, SPACE, core_power
from mpc.simulation.run import simulate
from mpc.simulation.trace import TriggerTrace
from runtime.config import Config


@dataclass(frozen=True, slots=True)
class PaperJob:
    """What one worker process does; picklable."""

    request: ScenarioRequest
    policy: str
    seed: int
    config: Config
    label: str
    """The name in the results: the policy's, or one that also tells its parameters."""


def run_job(job: PaperJob) -> Run:
    """Measured by the SASO properties (De Matteis and Mencagli 2016, section 2.1)."""
    scenario = _scenario(job.request)
    trace = _trace(job.request, job.seed)
    plant = OperatorPlant(
        trace, SPACE, core_power(), CYCLES_PER_POINT, scenario.step_s, clock=scenario.clock
    )
    policy = make_policy(job.policy, scenario, trace, job.config)
    # To one who knows the future no guard has anything to say.
    late_s = math.inf if job.policy == "oracle" else scenario.threshold_s
    descent = descent_of(job.policy, job.config)
    run = simulate(Controller.of(policy, SPACE, late_s, scenario.step_s, descent), plant)
    row = Row.of(
        job.label,
        job.seed,
        simulated_figures(plant.records, scenario.step_s, scenario.threshold_s),
        LatencyFigures.of(plant.result_latencies_s),
        run.decision_ms,
    )
    return Run(row, Series.of(plant.records, run.expected_per_s), windows=len(trace.time_s))


@lru_cache(maxsize=1)
def _scenario(request: ScenarioRequest) -> Scenario:
    return build(request)


@lru_cache(maxsize=1)
def _trace(request: ScenarioRequest, seed: int) -> TriggerTrace:
    return _scenario(request).trace(seed)
