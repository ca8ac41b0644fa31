"""The energy workload and the plant whose batches queue."""

from itertools import pairwise

import numpy as np
import pytest

from benchmarks.thesis.workload import DEVICES, PEAK_EXECUTORS, SHAPES, make_workload
from energy.power import prior_power
from mpc.simulation.micro_batch import MicroBatchTraits
from mpc.simulation.queued_batches import QueuedBatchPlant
from mpc.values import Configuration


@pytest.mark.parametrize("name", SHAPES)
def test_a_workload_is_one_hour_and_always_the_same(name: str) -> None:
    workload = make_workload(name)
    assert len(workload.messages) == 360
    assert (workload.devices <= np.minimum(workload.messages, DEVICES)).all()
    assert np.array_equal(workload.cycles, make_workload.__wrapped__(name).cycles)
    busiest = max(workload.executors[begin : begin + 30].mean() for begin in range(331))
    assert busiest == pytest.approx(PEAK_EXECUTORS)
    served = workload.rates_per_s * 10.0 * workload.row_cycles * workload.row_costs
    assert served == pytest.approx(workload.cycles)


def test_messages_of_more_devices_cost_more() -> None:
    workload = make_workload("W1")
    apart = np.corrcoef(workload.devices / workload.messages, workload.row_costs)[0, 1]
    assert apart > 0.99


def plant(rates: list[float], costs: list[float], executors: int) -> QueuedBatchPlant:
    return QueuedBatchPlant(
        np.asarray(rates),
        MicroBatchTraits(1.0, 1e8, 10.0, overhead_cv=0.0, row_cycles_cv=0.0, startup_s=0.0),
        prior_power(10, 2_000_000, 100.0),
        Configuration(executors, 2_000_000),
        np.random.default_rng(1),
        step_s=10.0,
        row_costs=np.asarray(costs),
    )


def test_batches_are_cut_at_the_interval_and_wait_for_their_turn() -> None:
    """1,000 rows of 0.05 s on 2 executors take 26 s with the overhead; one is cut every 10 s."""
    overloaded = plant([100.0] * 12, [1.0] * 12, executors=2)
    while overloaded.wait_for_step():
        pass
    assert [batch.rows.rows for batch in overloaded.finished] == [1000] * 4
    assert [batch.started_s for batch in overloaded.finished] == pytest.approx([10, 36, 62, 88])
    for before, after in pairwise(overloaded.finished):
        assert after.rows.first_arrival_s > before.rows.last_arrival_s
        assert after.latency_sum_s > before.latency_sum_s


def test_an_idle_engine_waits_for_the_next_cut() -> None:
    calm = plant([100.0, 0.0, 100.0, 0.0], [1.0] * 4, executors=10)
    while calm.wait_for_step():
        pass
    assert [batch.started_s for batch in calm.finished] == pytest.approx([10, 30])


def test_a_batch_costs_what_its_step_costs() -> None:
    uneven = plant([100.0] * 4, [0.5, 1.0, 0.25, 1.0], executors=10)
    while uneven.wait_for_step():
        pass
    assert [batch.cycles for batch in uneven.finished] == pytest.approx([0.5e11, 1e11, 0.25e11])


def test_costs_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="one a step"):
        plant([100.0] * 4, [1.0] * 3, executors=2)
