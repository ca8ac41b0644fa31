from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energy.power import CalibratedPower
from mpc.batch_cost import BatchCost, refined
from mpc.controller import Controller
from mpc.micro_batch import micro_batch_latency_s
from mpc.policies.fixed.policy import FixedPolicy
from mpc.simulation.executor_pool import ExecutorPool, positive_noise
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits, latency_quantiles_s
from mpc.simulation.row_queue import RowQueue
from mpc.simulation.run import control
from mpc.values import Configuration, ConfigurationSpace, FloatArray, Measurement

FAST, SLOW = 2_000_000, 1_000_000
ROW_CYCLES = 20_000.0
POWER = CalibratedPower(10.0, 5.0, 2.0, 0.5)
EIGHT = Configuration(8, FAST)


QUIET = MicroBatchTraits(
    overhead_s=0.3,
    row_cycles=ROW_CYCLES,
    overhead_cv=0.0,
    row_cycles_cv=0.0,
    startup_s=4.5,
    startup_cv=0.0,
)
"""Traits without chance: every delay and cost is its mean."""


def plant_of(
    rates_per_s: FloatArray,
    traits: MicroBatchTraits,
    start: Configuration = EIGHT,
    seed: int = 0,
) -> MicroBatchPlant:
    return MicroBatchPlant(rates_per_s, traits, POWER, start, np.random.default_rng(seed))


def steps_of(plant: MicroBatchPlant, targets: dict[int, Configuration]) -> list[Measurement]:
    """Run to the end, applying a target at the end of the given steps."""
    measurements = []
    ran, _ = plant.watch()
    while plant.wait_for_step():
        measurements.append(plant.measure(ran)[0])
        target = targets.get(measurements[-1].step)
        if target is not None:
            ran, _ = plant.steer(target)
    return measurements


def rate(utilisation: float, on: Configuration = EIGHT) -> float:
    return utilisation * on.executors * on.frequency_khz * 1e3 / ROW_CYCLES


@settings(max_examples=40)
@given(
    st.lists(st.floats(0, 1e6), min_size=1, max_size=25),
    st.sampled_from([None, 0.1, 1.0, 2.5]),
    st.sampled_from([0.0, 100.0, 1e4]),
    st.lists(st.integers(1, 20), min_size=25, max_size=25),
    st.integers(0, 2**32),
)
def test_every_row_is_in_exactly_one_batch(
    rates: list[float],
    interval_s: float | None,
    losses_per_hour: float,
    executors: list[int],
    seed: int,
) -> None:
    traits = MicroBatchTraits(
        0.3, ROW_CYCLES, interval_s, startup_s=2.0, losses_per_executor_hour=losses_per_hour
    )
    plant = plant_of(np.array(rates), traits, seed=seed)
    targets = {step: Configuration(n, FAST) for step, n in enumerate(executors, start=1)}
    measurements = steps_of(plant, targets)

    arrived = round(sum(m.arrivals_per_s or 0.0 for m in measurements))
    completed = round(sum(m.completions_per_s or 0.0 for m in measurements))
    assert arrived == int(np.floor(np.sum(rates) + 1e-9))
    assert arrived == completed + plant.unfinished
    assert completed == sum(batch.rows.rows for batch in plant.finished)
    for before, after in zip(plant.finished, plant.finished[1:], strict=False):
        # One batch at a time, and rows in the order of their arrival.
        assert before.finished_s <= after.started_s
        assert before.rows.last_arrival_s < after.rows.first_arrival_s
    for batch in plant.finished:
        mean_s = batch.rows.arrival_sum_s / batch.rows.rows
        first_s, last_s = batch.rows.first_arrival_s, batch.rows.last_arrival_s
        assert first_s - 1e-9 <= mean_s <= last_s + 1e-9
        assert last_s <= batch.started_s < batch.finished_s


@pytest.mark.parametrize("interval_s", [None, 2.0, 5.0])
@pytest.mark.parametrize("utilisation", [0.1, 0.5, 0.9])
def test_a_steady_load_has_the_latency_of_the_model(
    interval_s: float | None, utilisation: float
) -> None:
    rates = np.full(300, rate(utilisation))
    measurements = steps_of(plant_of(rates, replace(QUIET, trigger_interval_s=interval_s)), {})
    settled = [m for m in measurements[150:] if m.latency_s is not None and m.completions_per_s]
    rows = np.array([m.completions_per_s for m in settled], dtype=np.float64)
    measured_s = float(rows @ [m.latency_s for m in settled] / rows.sum())
    model_s = micro_batch_latency_s(
        rates[:1],
        BatchCost(0.3, ROW_CYCLES).model(1.0, interval_s),
        ConfigurationSpace(8, 8, (FAST,)),
    )
    assert measured_s == pytest.approx(float(model_s[0, 0, 0]), rel=0.01)


def test_executors_serve_only_after_the_dead_time() -> None:
    plant = plant_of(np.full(20, rate(0.5)), QUIET, Configuration(2, FAST))
    measurements = steps_of(plant, {5: Configuration(8, FAST)})
    # Asked for at 5 s and 4.5 s in starting: live in the measurement of second 10.
    assert [m.observed.executors for m in measurements] == [2] * 9 + [8] * 11
    assert [m.requested.executors for m in measurements] == [2] * 5 + [8] * 15
    assert {batch.ran_on.executors for batch in plant.finished if batch.finished_s <= 9.5} == {2}


def test_start_up_varies_from_executor_to_executor() -> None:
    traits = MicroBatchTraits(0.3, ROW_CYCLES, startup_s=10.0, startup_cv=0.3)
    plant = plant_of(np.zeros(60), traits, Configuration(1, FAST))
    live = [m.observed.executors for m in steps_of(plant, {1: Configuration(40, FAST)})]
    assert live[-1] == 40
    assert len(set(live)) > 5


def test_scaling_in_and_frequency_act_at_once() -> None:
    plant = plant_of(np.full(3, rate(0.5)), QUIET)
    assert plant.wait_for_step()
    applied, _ = plant.steer(Configuration(3, SLOW))
    assert applied.observed == applied.requested == Configuration(3, SLOW)


def test_scaling_in_gives_up_first_what_has_not_started() -> None:
    plant = plant_of(np.zeros(20), QUIET, Configuration(4, FAST))
    # Ready at 5.5 s, ready at 7.5 s, and then one too many: the later one goes.
    targets = {step: Configuration(n, FAST) for step, n in ((1, 5), (3, 6), (4, 5))}
    live = [m.observed.executors for m in steps_of(plant, targets)]
    assert live == [4] * 5 + [5] * 15


def test_half_the_frequency_doubles_the_work_of_a_batch() -> None:
    durations = []
    for frequency_khz in (FAST, SLOW):
        plant = plant_of(
            np.full(60, rate(0.2)),
            replace(QUIET, trigger_interval_s=2.0),
            Configuration(8, frequency_khz),
        )
        steps_of(plant, {})
        batch = plant.finished[-1]
        durations.append(batch.finished_s - batch.started_s)
        assert batch.ran_on == Configuration(8, frequency_khz)
    assert durations[1] - 0.3 == pytest.approx(2 * (durations[0] - 0.3), rel=1e-6)


def test_a_change_within_a_batch_is_in_its_duration_and_its_averages() -> None:
    # One batch of 10 s at full speed: 4 s of it at 2 GHz, the rest at 1 GHz.
    rows = np.zeros(30)
    rows[0] = rate(10.0)
    plant = plant_of(rows, replace(QUIET, overhead_s=1e-6, trigger_interval_s=1.0))
    steps_of(plant, {5: Configuration(8, SLOW)})
    (batch,) = plant.finished
    assert batch.finished_s - batch.started_s == pytest.approx(4.0 + 12.0, rel=1e-5)
    assert batch.ran_on.executors == 8
    assert batch.ran_on.frequency_khz == pytest.approx(1_250_000, rel=1e-4)


def test_the_work_of_a_lost_executor_is_repeated() -> None:
    # One batch of 100 s whose lost executors are replaced at once: only repetition costs time.
    rows = np.zeros(150)
    rows[0] = rate(100.0)
    traits = replace(QUIET, trigger_interval_s=1.0, startup_s=1e-6, losses_per_executor_hour=10.0)
    plant = plant_of(rows, traits, seed=3)
    steps_of(plant, {})
    (batch,) = plant.finished
    assert 102 < batch.finished_s - batch.started_s < 140


def test_lost_executors_are_replaced() -> None:
    rates = np.full(3_000, rate(0.4))
    stormy = plant_of(rates, replace(QUIET, losses_per_executor_hour=30.0))
    measurements = steps_of(stormy, {})
    live = np.array([m.observed.executors for m in measurements])
    assert live.min() < 8
    assert live.max() == 8
    # Each is away for 4.5 s of every 120 s, so 8 / (1 + 4.5 / 120) live on average.
    assert live.mean() == pytest.approx(8 / (1 + 4.5 / 120), rel=0.03)
    assert stormy.unfinished < 5 * rate(0.4)


def test_without_any_executor_the_batch_waits() -> None:
    plant = plant_of(
        np.full(200, rate(0.1, Configuration(1, FAST))),
        replace(QUIET, losses_per_executor_hour=200.0),
        Configuration(1, FAST),
    )
    measurements = steps_of(plant, {})
    idle = [m for m in measurements if m.observed.executors == 0]
    assert idle
    assert any(m.completions_per_s == 0 for m in idle)
    assert plant.finished[-1].finished_s > 190


def test_power_is_the_models_and_counts_executors_that_start() -> None:
    measurements = steps_of(
        plant_of(np.zeros(3), QUIET, Configuration(2, FAST)), {1: Configuration(6, FAST)}
    )
    assert [m.power_w for m in measurements] == pytest.approx(
        [float(POWER.power_w(n, FAST)) for n in (2, 6, 6)]
    )
    assert {m.power_source for m in measurements} == {"modelled"}


def test_a_step_without_a_finished_batch_measures_no_latency() -> None:
    rows = np.array([rate(5.0), 0.0, 0.0])
    measurements = steps_of(plant_of(rows, replace(QUIET, trigger_interval_s=1.0)), {})
    assert [m.latency_s for m in measurements] == [None] * 3
    assert [m.cost_cycles for m in measurements] == [None] * 3


def test_batches_let_the_two_constants_be_learned() -> None:
    traits = MicroBatchTraits(0.3, ROW_CYCLES)
    load = 0.4 + 0.3 * np.sin(np.arange(300) / 20)
    estimate = None
    for measurement in steps_of(plant_of(rate(1.0) * load, traits), {}):
        for sample in measurement.batches:
            estimate = refined(estimate, sample)
    assert estimate is not None
    assert estimate.cost.row_cycles == pytest.approx(ROW_CYCLES, rel=0.15)
    assert estimate.cost.overhead_s == pytest.approx(0.3, rel=0.25)


def test_the_same_seed_gives_the_same_run() -> None:
    traits = MicroBatchTraits(0.3, ROW_CYCLES, losses_per_executor_hour=60.0)
    rates = np.full(100, rate(0.7))
    runs = [steps_of(plant_of(rates, traits, seed=seed), {}) for seed in (7, 7, 8)]
    assert runs[0] == runs[1]
    assert runs[0] != runs[2]


def test_the_control_loop_drives_it_through_the_ports() -> None:
    space = ConfigurationSpace(1, 12, (SLOW, FAST))
    plant = plant_of(np.full(10, rate(0.3)), replace(QUIET, startup_s=0.5), Configuration(1, SLOW))
    steps = list(control(Controller.of(FixedPolicy(space.largest), space, 1.0, 1.0), plant))
    assert len(steps) == 10
    assert steps[-1].measurement.observed == space.largest
    assert [record.configuration.executors for record in plant.records] == [1] + [12] * 9


def test_quantiles_are_over_rows() -> None:
    plant = plant_of(np.full(100, rate(0.5)), replace(QUIET, trigger_interval_s=2.0))
    steps_of(plant, {})
    # Arrivals are spread over 2 s and a batch takes 0.3 + 1.0 s: from 1.3 to 3.3 s.
    low, median, high = latency_quantiles_s(plant.finished, (0.05, 0.5, 0.95))
    assert low == pytest.approx(1.4, abs=0.1)
    assert median == pytest.approx(2.3, abs=0.1)
    assert high == pytest.approx(3.2, abs=0.1)
    with pytest.raises(ValueError, match="no batch has finished"):
        latency_quantiles_s([], (0.5,))


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=10),
    st.lists(st.floats(0, 10), max_size=20),
)
def test_the_queue_hands_out_the_arrival_times_it_was_given(
    counts: list[int], times_s: list[float]
) -> None:
    queue = RowQueue()
    arrivals_s: list[float] = []
    for second, count in enumerate(counts):
        queue.add(second, second + 1.0, count)
        arrivals_s += [second + (row + 0.5) / count for row in range(count)]
    for time_s in sorted(times_s):
        due = [arrival_s for arrival_s in arrivals_s if arrival_s <= time_s - 1e-9]
        arrivals_s = arrivals_s[len(due) :]
        taken = queue.take(time_s - 1e-9)
        if not due:
            assert taken is None
            continue
        assert taken is not None
        assert taken.rows == len(due)
        assert taken.arrival_sum_s == pytest.approx(sum(due))
        assert taken.first_arrival_s == pytest.approx(due[0])
        assert taken.last_arrival_s == pytest.approx(due[-1])
    assert queue.untaken == len(arrivals_s)


@given(
    st.lists(st.tuples(st.floats(0, 20), st.integers(0, 30)), max_size=15), st.integers(0, 2**32)
)
def test_the_pool_holds_what_was_asked_for(requests: list[tuple[float, int]], seed: int) -> None:
    pool = ExecutorPool(5, 3.0, 0.5, 400.0, np.random.default_rng(seed))
    now_s = 0.0
    for pause_s, target in requests:
        pool.retarget(target, now_s)
        until_s = now_s + pause_s
        while pool.next_event_s <= until_s:
            now_s = pool.next_event_s
            pool.settle(now_s)
            assert pool.live + pool.starting == target
        now_s = until_s


def test_noise_keeps_the_mean() -> None:
    generator = np.random.default_rng(0)
    factors = np.array([positive_noise(generator, 0.4) for _ in range(20_000)])
    assert factors.mean() == pytest.approx(1.0, rel=0.02)
    assert factors.std() == pytest.approx(0.4, rel=0.05)


@pytest.mark.parametrize(
    "changes",
    [
        {"overhead_s": 0.0},
        {"trigger_interval_s": 0.0},
        {"startup_cv": -1.0},
        {"useful_executors": 0},
    ],
)
def test_traits_without_meaning_are_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must"):
        replace(QUIET, **changes)


def test_rates_without_meaning_are_refused() -> None:
    with pytest.raises(ValueError, match="finite and not negative"):
        plant_of(np.array([1.0, np.nan]), QUIET)
