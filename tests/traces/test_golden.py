"""The decisions of recorded steps stay as they are until somebody means to change them."""

import json

import pytest

from mpc.bounds import Bounds
from mpc.simulation.paper_machine import SPACE
from tests.traces.record import POLICIES, measurement, path, policy


@pytest.mark.parametrize("name", POLICIES)
def test_recorded_measurements_give_the_recorded_decisions(name: str) -> None:
    steps = json.loads(path(name).read_text())
    assert len(steps) == 45
    decider = policy(name)
    decided = []
    for values in steps:
        target = decider.decide(measurement(values), Bounds(SPACE)).target
        decided.append([target.executors, target.frequency_khz])
    assert decided == [values["decided"] for values in steps]
    # A trace in which nothing happens would guard nothing.
    assert len({tuple(each) for each in decided}) > 1
