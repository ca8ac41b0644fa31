"""One simulated run and what it was like."""

import math

import numpy as np
import pytest

from energy.power import ProportionalPower
from mpc.controller import Controller
from mpc.descent_limits import UNLIMITED
from mpc.policies.fixed.policy import FixedPolicy
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.operator import PlantStep
from mpc.simulation.run import simulate
from mpc.simulation.summary import Changes, changes_in, summarise
from mpc.values import Configuration, ConfigurationSpace

SPACE = ConfigurationSpace(1, 4, (1_000_000, 2_000_000))


def plant(steps: int) -> MicroBatchPlant:
    return MicroBatchPlant(
        np.full(steps, 100.0),
        MicroBatchTraits(overhead_s=0.1, row_cycles=1e6),
        ProportionalPower(),
        SPACE.largest,
        np.random.default_rng(1),
    )


def fixed(target: Configuration) -> Controller:
    return Controller.of(FixedPolicy(target), SPACE, 1.0, 1.0, UNLIMITED)


def test_a_run_has_every_step_and_the_time_of_every_decision() -> None:
    simulated = plant(5)
    run = simulate(fixed(Configuration(2, 1_000_000)), simulated)
    assert [step.measurement.step for step in run.steps] == [1, 2, 3, 4, 5]
    assert len(run.decision_ms) == 5
    assert run.expected_per_s == (None,) * 5
    assert simulated.records[-1].configuration == Configuration(2, 1_000_000)


def test_the_policy_chooses_within_the_space() -> None:
    simulated = plant(5)
    simulate(fixed(Configuration(9, 2_000_000)), simulated)
    assert simulated.records[-1].configuration == Configuration(4, 2_000_000)


def test_changes_are_counted_by_what_changed() -> None:
    slow, fast = Configuration(1, 1_000_000), Configuration(4, 1_400_000)
    assert changes_in([slow, slow, fast, Configuration(4, 1_000_000)]) == Changes(2, 1, 2, 4.5)
    assert changes_in([slow]) == changes_in([]) == Changes(0, 0, 0, 0.0)


def test_figures_judge_what_can_be_judged() -> None:
    observed = [Configuration(executors, 1_000_000) for executors in (1, 2, 3, 2)]
    figures = summarise(
        latencies_s=[0.5, None, math.inf, 1.5],
        powers_w=[10.0, None, 20.0, 30.0],
        observed=observed,
        requested=observed[1:],
        step_s=2.0,
        target_s=1.0,
    )
    assert (figures.steps, figures.judged_steps, figures.violations) == (4, 3, 2)
    assert figures.changes.reconfigurations == 2
    assert (figures.mean_executors, figures.mean_frequency_khz) == (2.0, 1_000_000)
    assert (figures.mean_power_w, figures.energy_j) == (20.0, 160.0)


def test_without_a_power_there_is_no_energy() -> None:
    figures = summarise(
        latencies_s=[None],
        powers_w=[None],
        observed=[SPACE.largest],
        requested=[SPACE.largest],
        step_s=1.0,
        target_s=1.0,
    )
    assert (figures.mean_power_w, figures.energy_j, figures.violations) == (None, None, 0)


@pytest.mark.parametrize(
    ("arrivals_per_s", "latency_s", "violates"),
    [(5.0, 0.5, False), (5.0, 1.5, True), (5.0, None, True), (0.0, None, False)],
)
def test_a_step_that_owes_results_and_has_none_violates(
    arrivals_per_s: float, latency_s: float | None, violates: bool
) -> None:
    step = PlantStep(SPACE.largest, arrivals_per_s, latency_s, power_w=1.0)
    assert step.violates(1.0) is violates
