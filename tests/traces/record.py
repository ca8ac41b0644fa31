"""Records the golden traces anew: `python -m tests.traces.record`, after a change on purpose."""

import json
from pathlib import Path
from typing import Any

from benchmarks.mpc_paper.catalogue import make_policy
from benchmarks.mpc_paper.scenarios import ScenarioRequest, build
from benchmarks.policies import descent_of
from mpc.bounds import Bounds
from mpc.controller import Controller
from mpc.ports import Policy
from mpc.simulation.operator import OperatorPlant
from mpc.simulation.paper_machine import CYCLES_PER_POINT, SPACE, core_power
from mpc.simulation.run import control
from mpc.values import Configuration, Measurement
from runtime.config import Config

POLICIES = ("rule-based", "spl", "lat-node-h2", "lat-power-h2", "foresight")
FOLDER = Path(__file__).parent
SCALARS = (
    "step",
    "time_s",
    "arrivals_per_s",
    "arrival_cv",
    "arrival_dispersion",
    "completions_per_s",
    "cost_cycles",
    "cost_cv",
    "wait_s",
    "latency_s",
    "congestion",
)


def policy(name: str) -> Policy:
    scenario = build(ScenarioRequest("paper-step"))
    return make_policy(name, scenario, scenario.trace(1), Config())


def measurement(values: dict[str, Any]) -> Measurement:
    requested = Configuration(*values["requested"])
    scalars = {name: values[name] for name in SCALARS}
    return Measurement(requested=requested, observed=requested, **scalars)


def path(name: str) -> Path:
    return FOLDER / f"{name}.json"


def record(name: str) -> None:
    scenario = build(ScenarioRequest("paper-step"))
    trace = scenario.trace(1)
    plant = OperatorPlant(trace, SPACE, core_power(), CYCLES_PER_POINT, scenario.step_s)
    decider = make_policy(name, scenario, trace, Config())
    lines = []
    descent = descent_of(name, Config())
    controller = Controller.of(decider, SPACE, scenario.threshold_s, scenario.step_s, descent)
    for step in control(controller, plant):
        requested = step.measurement.requested
        values = {scalar: getattr(step.measurement, scalar) for scalar in SCALARS}
        values["requested"] = [requested.executors, requested.frequency_khz]
        lines.append(json.dumps(values))
    # Decisions are those on the recorded numbers alone: keys only matter to the routing.
    replayed = policy(name)
    steps = []
    for line in lines:
        values = json.loads(line)
        target = replayed.decide(measurement(values), Bounds(SPACE)).target
        steps.append({**values, "decided": [target.executors, target.frequency_khz]})
    text = ",\n".join(json.dumps(step) for step in steps)
    path(name).write_text(f"[\n{text}\n]\n")


if __name__ == "__main__":
    for each in POLICIES:
        record(each)
