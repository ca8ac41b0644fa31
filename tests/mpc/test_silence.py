"""Rows that wait longer than the target are late, also while no batch ends."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.bounds import Bounds
from mpc.controller import Controller
from mpc.events import EventKind
from mpc.silence import Silence
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Decision, Measurement

HERE = Configuration(2, 2_000_000)
SPACE = ConfigurationSpace(1, 4, (1_000_000, 2_000_000))
SILENT = Measurement(1, 1.0, HERE, HERE)
seconds = st.none() | st.floats(0, 1e4)


@given(seconds, seconds, seconds, st.lists(st.floats(0, 100), max_size=3))
def test_only_ever_a_lower_bound_above_the_target(
    waited_s: float | None,
    latency_s: float | None,
    interval_s: float | None,
    durations_s: list[float],
) -> None:
    measured = replace(
        SILENT,
        oldest_wait_s=waited_s,
        latency_s=latency_s,
        trigger_interval_s=interval_s,
        batches=tuple(BatchSample(1, duration_s, HERE) for duration_s in durations_s),
    )
    heard = Silence(5.0).heard(measured)
    if heard == measured:
        return
    assert waited_s is not None
    assert heard.latency_s is not None
    assert max(5.0, latency_s or 0.0) < heard.latency_s <= waited_s
    assert replace(heard, latency_s=latency_s, latency_kind=None) == measured


@pytest.mark.parametrize(
    ("waited_s", "latency_s"), [(None, None), (4.0, None), (6.9, None), (7.1, 5.1), (30.0, 28.0)]
)
def test_the_mean_row_is_half_a_batch_younger_than_the_oldest(
    waited_s: float | None, latency_s: float | None
) -> None:
    """Batches of four seconds: the rows of the one that runs came over four seconds."""
    silence = Silence(5.0)
    silence.heard(replace(SILENT, batches=(BatchSample(10, 4.0, HERE),)))
    heard = silence.heard(replace(SILENT, oldest_wait_s=waited_s)).latency_s
    assert heard == (None if latency_s is None else pytest.approx(latency_s))


def test_guards_and_policy_see_it() -> None:
    class Curious:
        def __init__(self) -> None:
            self.seen: list[float | None] = []

        def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
            self.seen.append(measurement.latency_s)
            assert bounds.space.min_executors == 2
            return Decision(Configuration(1, 1_000_000), "less")

    policy = Curious()
    controller = Controller.of(policy, SPACE, 5.0, 1.0)
    decided = controller.step(replace(SILENT, arrivals_per_s=10.0, oldest_wait_s=9.0))
    assert policy.seen == [9.0]
    assert decided.target == HERE
    assert [event.kind for event in decided.events] == [EventKind.HELD_VIOLATION]
