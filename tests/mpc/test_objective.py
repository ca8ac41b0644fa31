"""The objective: a mean, or a share of the rows."""

from dataclasses import replace

import numpy as np
import pytest

from energy.power import ProportionalPower
from mpc.descent_limits import UNLIMITED
from mpc.events import EventKind
from mpc.guards import Guards
from mpc.objective import breaks_objective, evenly_late, lateness
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import Applied, Configuration, ConfigurationSpace, Measurement

ON = Configuration(4, 2_000_000)
SPACE = ConfigurationSpace(1, 8, (1_000_000, 2_000_000))
STEP = Measurement(1, 1.0, ON, ON, arrivals_per_s=100.0, latency_s=0.8, late_share=0.1)


def test_a_quantile_judges_the_rows_and_its_absence_their_mean() -> None:
    assert not breaks_objective(STEP, 1.0)
    assert breaks_objective(STEP, 0.7)
    assert breaks_objective(STEP, 1.0, 0.95)
    assert not breaks_objective(STEP, 1.0, 0.9)
    unknown = replace(STEP, late_share=None)
    assert not breaks_objective(unknown, 1.0, 0.95)
    assert breaks_objective(unknown, 0.7, 0.95)
    assert not breaks_objective(replace(unknown, latency_s=None), 0.7, 0.95)
    assert lateness(STEP, 1.0, 0.95) == "10.0% of the rows later than 1 s"
    assert lateness(STEP, 0.7, None) == "latency 0.8 s above 0.7 s"


@pytest.mark.parametrize(
    ("longest_s", "shortest_s", "share"), [(2, 1, 0.5), (2, 2, 1), (1, 1, 0), (9, 2, 1), (1, 0, 0)]
)
def test_rows_between_two_latencies(longest_s: float, shortest_s: float, share: float) -> None:
    assert evenly_late(longest_s, shortest_s, 1.5) == share


def test_nothing_is_given_up_while_too_many_rows_are_late() -> None:
    for quantile, fewest in ((None, 1), (0.95, 4)):
        bounds = Guards(SPACE, 1.0, 1.0, UNLIMITED, quantile).bounds(STEP)
        assert bounds.space.min_executors == fewest
        held = [reason.kind for reason in bounds.reasons]
        assert (EventKind.HELD_VIOLATION in held) == (quantile is not None)


def test_the_plant_counts_its_late_rows() -> None:
    traits = MicroBatchTraits(0.5, 1e5, trigger_interval_s=4.0, overhead_cv=0.0, row_cycles_cv=0.0)
    plant = MicroBatchPlant(
        np.full(40, 40_000.0), traits, ProportionalPower(), ON, np.random.default_rng(1),
        target_s=4.5,
    )  # fmt: skip
    shares = []
    while plant.wait_for_step():
        measured, _ = plant.measure(Applied(ON, ON))
        if measured.late_share is not None:
            shares.append(measured.late_share)
    # 2.5 s of batch after up to 4 s of waiting: those that waited for more than 2 s.
    assert shares[2:] == pytest.approx([0.5] * len(shares[2:]), abs=0.01)
