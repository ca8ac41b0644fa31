"""The distribution table: made from measured weights, and there when a step measured none."""

from dataclasses import replace

import numpy as np

from mpc.policies.routing import SteadyRouting
from mpc.values import Configuration, Measurement

RUNNING = Configuration(2, 2_000_000)
SILENT = Measurement(step=1, time_s=1.0, requested=RUNNING, observed=RUNNING)


def measured(*frequencies: float) -> Measurement:
    costs = np.full(len(frequencies), 1e6)
    return replace(SILENT, key_frequencies=np.asarray(frequencies), key_cost_cycles=costs)


def test_a_silent_step_does_not_lose_the_table_of_another_number_of_executors() -> None:
    routing = SteadyRouting()
    first = routing.table(measured(0.4, 0.3, 0.2, 0.1), 2)
    assert first is not None and set(first) == {0, 1}
    assert routing.table(SILENT, 2) is first
    fewer = routing.table(SILENT, 1)
    assert fewer is not None and set(fewer) == {0}


def test_where_keys_are_never_measured_there_is_no_table() -> None:
    assert SteadyRouting().table(SILENT, 3) is None
