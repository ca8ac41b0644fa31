"""Every policy of the comparison by its name, set up for a scenario on the paper's machine."""

import re
from collections.abc import Sequence

import numpy as np

from benchmarks.mpc_paper.oracle import Clairvoyance, OraclePolicy
from benchmarks.mpc_paper.scenarios import Scenario
from energy.calibration import PowerPoint, calibrated, points_to_measure
from energy.power import CalibratedPower, ProportionalPower
from forecasting.registry import make_forecaster
from mpc.policies.lat import LatParameters, LatPolicy
from mpc.ports import Policy
from mpc.simulation.operator import OperatorPlant
from mpc.simulation.paper_machine import CYCLES_PER_POINT, SPACE, core_power
from mpc.simulation.trace import TriggerTrace
from runtime.build import foresight_policy
from runtime.config import Config
from runtime.config.policies import TABLED_POLICIES
from runtime.policies.registry import build_policy

PAPER_POLICIES = (
    "peak",
    "rule-based",
    "spl",
    "lat-node-nosw",
    "lat-node-h1",
    "lat-node-h2",
    "lat-node-h3",
    "lat-power-nosw",
    "lat-power-h1",
    "lat-power-h2",
    "lat-power-h3",
)
ALL_POLICIES = (*PAPER_POLICIES, "foresight", "oracle")

_LAT = re.compile(r"lat-(node|power)-(?:(nosw)|h([1-9]))")
_STATIC = re.compile(r"static-([1-9][0-9]*)")


def check_policies(names: Sequence[str]) -> None:
    for name in names:
        static = _STATIC.fullmatch(name)
        if static and int(static[1]) > SPACE.max_executors:
            raise ValueError(f"{name}: the machine has {SPACE.max_executors} executors")
        known = (*ALL_POLICIES, *TABLED_POLICIES)
        if not (static or name in known):
            raise ValueError(f"unknown policy {name!r}; known: {', '.join(known)} and static-N")


def make_policy(name: str, scenario: Scenario, trace: TriggerTrace, config: Config) -> Policy:
    check_policies([name])
    if lat := _LAT.fullmatch(name):
        return _lat(lat[1], None if lat[2] else int(lat[3]), scenario)
    match name:
        case "oracle":
            return OraclePolicy.rehearsed(
                clairvoyance(scenario, trace),
                lambda: OperatorPlant(
                    trace, SPACE, core_power(), CYCLES_PER_POINT, scenario.step_s
                ),
                scenario.threshold_s,
            )
        case "foresight":
            return foresight_policy(
                config, SPACE, scenario.threshold_s, scenario.step_s, user_calibrated_power()
            )
        case _:
            generator = np.random.default_rng(config.seed)
            return build_policy(
                config, name, SPACE, scenario.threshold_s, scenario.step_s, generator
            )


def _lat(kind: str, horizon_steps: int | None, scenario: Scenario) -> Policy:
    """Table 2; without switching cost a longer horizon changes nothing (section 5.3.1)."""
    power = kind == "power"
    return LatPolicy(
        LatParameters(
            resource="power" if power else "executors",
            threshold_s=scenario.threshold_s,
            latency_weight=scenario.lat_power_weight if power else scenario.lat_node_weight,
            switching_weight=0.0 if horizon_steps is None else 0.4,
            horizon_steps=horizon_steps or 1,
        ),
        ProportionalPower(),
        make_forecaster(scenario.paper_forecast),
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
