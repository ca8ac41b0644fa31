"""Policies that plan ahead stay within the bounds of a step, over the whole horizon."""

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energy.power import ProportionalPower
from forecasting.registry import make_forecaster
from mpc.bounds import Bounds
from mpc.policies.lat import LatParameters, LatPolicy
from mpc.ports import Policy
from mpc.values import BatchSample, Configuration, ConfigurationSpace, Decision, Measurement
from runtime.build import foresight_policy
from runtime.config import load_config

SPACE = ConfigurationSpace(1, 6, (1_200_000, 1_600_000, 2_000_000))


def foresight(*overrides: str) -> Policy:
    config = load_config(None, ["forecast.scenarios=20", "horizon.steps=4", *overrides])
    return foresight_policy(config, SPACE, 1.0, 1.0, ProportionalPower())


def lat(power: bool) -> Policy:
    return LatPolicy(
        LatParameters("power" if power else "executors", 1.0, latency_weight=2.0, horizon_steps=2),
        ProportionalPower(),
        make_forecaster("mean-3"),
    )


POLICIES: dict[str, Callable[[], Policy]] = {
    "foresight": foresight,
    "foresight-micro-batch": lambda: foresight("latency.model=micro-batch"),
    "foresight-limited": lambda: foresight(
        "limits.dead_time_s=2",
        "limits.max_added_per_step=1",
        "limits.max_removed_per_step=1",
        "limits.min_dwell_steps=2",
        "limits.power_cap_w=9",
        "limits.energy_budget_j=30",
    ),
    "lat-node": lambda: lat(power=False),
    "lat-power": lambda: lat(power=True),
}


@st.composite
def bounds(draw: st.DrawFn) -> Bounds:
    fewest = draw(st.integers(1, 6))
    most = draw(st.integers(fewest, 6))
    frequencies_khz = draw(st.sets(st.sampled_from(SPACE.frequencies_khz), min_size=1))
    return Bounds(ConfigurationSpace(fewest, most, tuple(sorted(frequencies_khz))))


@st.composite
def steps(draw: st.DrawFn) -> list[tuple[Bounds, float, Configuration]]:
    """Bounds, arrivals and what was requested before, which the bounds need not contain."""
    anywhere = st.builds(Configuration, st.integers(1, 6), st.sampled_from(SPACE.frequencies_khz))
    step = st.tuples(bounds(), st.floats(1.0, 30_000.0), anywhere)
    return draw(st.lists(step, min_size=3, max_size=8))


def measured(number: int, arrivals_per_s: float, requested: Configuration) -> Measurement:
    capacity_per_s = requested.executors * requested.frequency_khz * 1e3 / 1e6
    return Measurement(
        step=number,
        time_s=float(number),
        requested=requested,
        observed=requested,
        arrivals_per_s=arrivals_per_s,
        completions_per_s=min(arrivals_per_s, capacity_per_s),
        backlog_items=max(arrivals_per_s - capacity_per_s, 0.0),
        arrival_cv=1.0,
        arrival_dispersion=1.0,
        cost_cycles=1e6,
        cost_cv=0.5,
        wait_s=0.1,
        latency_s=0.3,
        batches=(BatchSample(int(arrivals_per_s) + 1, 0.4, requested),),
    )


def assert_within(decision: Decision, allowed: Bounds) -> None:
    assert allowed.contains(decision.target), decision.reason
    if decision.plan is not None:
        assert all(allowed.contains(planned) for planned in decision.plan.trajectory)
    for alternative in decision.alternatives:
        assert allowed.contains(alternative.configuration)


@pytest.mark.parametrize("name", POLICIES)
@settings(max_examples=25)
@given(run=steps())
def test_target_and_trajectory_lie_within_the_bounds(
    name: str, run: list[tuple[Bounds, float, Configuration]]
) -> None:
    policy = POLICIES[name]()
    for number, (allowed, arrivals_per_s, requested) in enumerate(run, start=1):
        decision = policy.decide(measured(number, arrivals_per_s, requested), allowed)
        assert_within(decision, allowed)
        assert number == 1 or decision.plan is not None or name.startswith("lat")
