"""Every policy of the comparison by its name, set up for a scenario on the paper's machine."""

from dataclasses import replace

import msgspec
import numpy as np

from benchmarks.mpc_paper.oracle import Clairvoyance, OraclePolicy
from benchmarks.mpc_paper.scenarios import Scenario
from benchmarks.policies import check_policies
from energy.calibration import PowerPoint, calibrated, points_to_measure
from energy.power import CalibratedPower, ProportionalPower
from forecasting.memory import RateMemory, remembered
from mpc.policies.catalogue import find_policy, policy_names
from mpc.policies.context import Context
from mpc.policies.lat.options import LatOptions
from mpc.ports import Policy, Remembers
from mpc.simulation.operator import OperatorPlant
from mpc.simulation.paper_machine import CYCLES_PER_POINT, SPACE, core_power
from mpc.simulation.trace import TriggerTrace, Windows
from runtime.config import Config

PAPER_POLICIES = (
    "peak",
    "rule-based",
    "spl",
    *(name for name in policy_names() if name.startswith("lat-")),
)
ALL_POLICIES = (*PAPER_POLICIES, "foresight", "oracle")


def make_policy(name: str, scenario: Scenario, trace: TriggerTrace, config: Config) -> Policy:
    check_policies([name], SPACE, also=["oracle"])
    if name == "oracle":
        return OraclePolicy.rehearsed(
            clairvoyance(scenario, trace),
            lambda: OperatorPlant(trace, SPACE, core_power(), CYCLES_PER_POINT, scenario.step_s),
            scenario.threshold_s,
        )
    options = config.options_of(name)
    context = Context(
        space=SPACE,
        target_latency_s=scenario.threshold_s,
        step_s=scenario.step_s,
        power=user_calibrated_power(),
        clock_speed=1.0 if scenario.clock is None else scenario.clock.speed,
        generator=np.random.default_rng(config.seed),
    )
    if isinstance(options, LatOptions):
        options = _of_scenario(options, scenario)
        context = replace(context, power=ProportionalPower())  # the paper's
    policy = find_policy(name).build(options, context)
    if isinstance(policy, Remembers):
        policy.memory = _memory(scenario)
    return policy


def _memory(scenario: Scenario) -> RateMemory:
    """Of the days before, counted as the controller would have counted them."""
    memory = RateMemory()
    for day in scenario.days_before:
        bins = round(scenario.step_s / day.rates.bin_s)
        whole = len(day.rates.tuples_per_s) // bins * bins
        # A plant's items are the tuples that trigger a window.
        steps = day.rates.tuples_per_s[:whole].reshape(-1, bins).mean(axis=1) / Windows().slide
        remembered(steps, day.clock.begin_s, scenario.step_s * day.clock.speed, memory)
    return memory


def _of_scenario(options: LatOptions, scenario: Scenario) -> LatOptions:
    by_power = options.resource == "power"
    return msgspec.structs.replace(
        options,
        latency_weight=scenario.lat_power_weight if by_power else scenario.lat_node_weight,
        forecast=scenario.paper_forecast,
    )


def clairvoyance(scenario: Scenario, trace: TriggerTrace) -> Clairvoyance:
    return Clairvoyance(
        trace, SPACE, core_power(), CYCLES_PER_POINT, scenario.threshold_s, scenario.step_s
    )


def user_calibrated_power() -> CalibratedPower:
    """What a user's calibration of the machine gives: seven measured points, fitted."""
    truth = core_power()
    places = points_to_measure(
        [int(executors) for executors in SPACE.executors], SPACE.frequencies_khz
    )
    return calibrated([PowerPoint(n, khz, float(truth.power_w(n, khz))) for n, khz in places])
