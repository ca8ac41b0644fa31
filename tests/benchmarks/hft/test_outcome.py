"""A run on a cluster is judged by its predictions, step by step, like one in the simulator."""

from dataclasses import replace

import numpy as np
import pytest

from benchmarks.hft.outcome import Predictions, outcome
from mpc.bounds import Bounds
from mpc.values import Applied, Configuration, ConfigurationSpace, Decision, Measurement
from runtime.config import load_config
from runtime.control.journal import StepRecord

BEGIN_S = 1000.0
CONFIG = load_config(None, ["slo.latency_ms=2000"])


def record(step: int, executors: int, power_w: float | None) -> StepRecord:
    now = Configuration(executors, 2_000_000)
    return StepRecord(
        at_s=BEGIN_S + step + 1,
        mode="control",
        measurement=Measurement(
            step, float(step), requested=now, observed=now, arrivals_per_s=100.0, power_w=power_w
        ),
        bounds=Bounds(ConfigurationSpace(1, 9, (2_000_000,))),
        decision=Decision(now, "test"),
        target=now,
        applied=Applied(now, now),
        dead_time_s=0.0,
        took_s=0.01,
    )


def test_a_step_has_the_latency_of_what_was_due_in_it() -> None:
    records = [record(0, 2, 10.0), record(1, 3, None), record(2, 3, 20.0), record(3, 3, 30.0)]
    due_s = BEGIN_S + np.array([-1.0, 0.2, 0.8, 1.5, 2.5, 9.0])
    there_s = due_s + np.array([9.0, 1.0, 2.0, 3.0, 1.0, 1.0])
    run = outcome("foresight", 1, records, Predictions(due_s, there_s), BEGIN_S, CONFIG)
    # The third step is fine, the second is late, and in the fourth no prediction ever came.
    *latency_s, missing = run.series.latency_s
    assert latency_s == pytest.approx([1.5, 3.0, 1.0])
    assert missing is None
    assert (run.row.steps, run.row.violations, run.windows) == (4, 2, 4)
    assert (run.row.executor_changes, run.row.reconfigurations) == (1, 1)
    assert run.row.mean_power_w == pytest.approx(20.0)
    assert run.row.energy_j == pytest.approx(80.0)
    assert run.series.power_w == (10.0, 20.0, 20.0, 30.0)


def test_waiting_for_the_trigger_evens_out_over_its_interval() -> None:
    """Rows of every second, a trigger every four, batches of one second."""
    due_s = BEGIN_S + np.arange(-4.0, 8.0) + 0.5
    there_s = BEGIN_S + 4.0 * np.ceil((due_s - BEGIN_S) / 4.0) + 1.0
    records = [record(step, 2, 10.0) for step in range(8)]
    predictions = Predictions(due_s, there_s)
    run = outcome("peak", 1, records, predictions, BEGIN_S, CONFIG, trigger_interval_s=4.0)
    assert run.series.latency_s == pytest.approx([3.0] * 8)
    by_second = outcome("peak", 1, records, predictions, BEGIN_S, CONFIG)
    assert by_second.series.latency_s == pytest.approx([4.5, 3.5, 2.5, 1.5] * 2)


def test_arrivals_stand_in_the_step_they_came_in() -> None:
    """Batches of four seconds tell a rising rate three steps late."""
    records = []
    for step in range(12):
        made = record(step, 2, 10.0)
        rate = 10.0 * (step - 3) if step % 4 == 1 else None
        measured = replace(made.measurement, arrivals_per_s=rate, arrivals_age_s=3.2)
        expected = np.array([10.0 * (step + 1)])
        decision = replace(made.decision, expected_arrivals_per_s=expected)
        records.append(replace(made, measurement=measured, decision=decision))
    run = outcome("peak", 1, records, Predictions(np.empty(0), np.empty(0)), BEGIN_S, CONFIG)
    # The first was told for two steps before the run, the last for step 6.
    rates = [0.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 60.0, 60.0, 60.0, 60.0, 60.0]
    assert run.series.arrivals_per_s == pytest.approx(rates)
    assert run.series.expected_per_s[0] is None
    assert run.series.expected_per_s[1:7] == pytest.approx(rates[1:7])


def test_without_a_step_there_is_nothing_to_judge() -> None:
    with pytest.raises(ValueError, match="no control step"):
        outcome("peak", 1, [], Predictions(np.empty(0), np.empty(0)), BEGIN_S, CONFIG)
