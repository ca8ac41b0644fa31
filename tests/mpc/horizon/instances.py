"""Random small problems for hypothesis, with any set of constraints."""

import numpy as np
from hypothesis import strategies as st

from mpc.horizon.problem import Backlog, Constraints, HorizonProblem, QosCurve
from mpc.values import Configuration, ConfigurationSpace, FloatArray

NAMES = ("dead_time", "rate_limit", "dwell", "power_cap", "energy_budget", "backlog")


@st.composite
def problems(
    draw: st.DrawFn,
    names: tuple[str, ...] | None = None,
    horizons: tuple[int, int] = (1, 4),
    dead_times: tuple[int, int] = (1, 3),
    largest: int = 6,
) -> HorizonProblem:
    """`names`: the constraints present; None draws any set of them.

    `largest` bounds the number of configurations.
    """
    if names is None:
        names = tuple(name for name in NAMES if draw(st.booleans()))
    horizon = draw(st.integers(*horizons))
    executors = draw(st.integers(1, min(5, largest)))
    frequencies = draw(st.integers(1, max(1, min(4, largest // executors))))
    low = draw(st.integers(1, 3))
    space = ConfigurationSpace(
        low, low + executors - 1, tuple(1_000_000 + 100_000 * k for k in range(frequencies))
    )
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    shape = (executors, frequencies)
    capacity = (space.executors[:, None] * space.frequencies_hz[None, :]) / 1e9
    kind = draw(st.sampled_from(["plant", "any", "rising"]))
    latency_s = random.uniform(0.0, 4.0, (horizon, *shape))
    if kind == "plant":  # falls with capacity, steep where it is short
        load = random.uniform(0.5, 1.2, (horizon, 1, 1)) * capacity.max()
        latency_s = 0.2 * load / np.maximum(capacity - load * 0.6, 0.02)
    elif kind == "rising":  # executors in each other's way
        latency_s = np.sort(latency_s, axis=1)
    if draw(st.booleans()):  # many ties
        latency_s = np.round(latency_s)
    power_w = np.round(capacity * random.uniform(4.0, 9.0) + random.uniform(0, 3, shape)) / 4
    return HorizonProblem(
        space=space,
        current=Configuration(
            draw(st.integers(low, low + executors - 1)),
            draw(st.sampled_from(space.frequencies_khz)),
        ),
        latency_s=latency_s,
        qos=QosCurve(
            weight=draw(st.sampled_from([0.0, 0.3, 1.0, 20.0])),
            offset_s=draw(st.sampled_from([0.0, 0.3])),
            scale_s=draw(st.sampled_from([0.2, 1.0, 3.0])),
            mode=draw(st.sampled_from(["exponential", "normalised"])),
        ),
        # Also falling: a reward for requests, so that dead time can be an advantage.
        resource_cost=draw(st.sampled_from([-1.0, 1.0])) * random.uniform(0.2, 2.0) * power_w,
        executor_switching=draw(st.sampled_from([0.0, 0.1, 1.0])),
        frequency_switching=draw(st.sampled_from([0.0, 0.05, 1.0])),
        constraints=_constraints(draw, (names, dead_times), space, horizon, power_w),
        backlog=_backlog(random, capacity, horizon) if "backlog" in names else None,
    )


def _constraints(
    draw: st.DrawFn,
    wanted: tuple[tuple[str, ...], tuple[int, int]],
    space: ConfigurationSpace,
    horizon: int,
    power_w: FloatArray,
) -> Constraints:
    names, dead_times = wanted
    delay = draw(st.integers(*dead_times)) if "dead_time" in names else 0
    count = st.integers(space.min_executors, space.max_executors)
    recent = st.tuples(*[count] * delay)
    limit = st.none() | st.integers(0, 3)
    dwell = draw(st.integers(0, 4)) if "dwell" in names else 0
    cap_w = draw(st.floats(0.5, 1.3)) * float(np.median(power_w))
    share = draw(st.floats(0.8, 1.4))
    rated = "power_cap" in names or "energy_budget" in names
    return Constraints(
        dead_time_steps=delay,
        recent_requests=draw(st.just(()) | recent) if delay else (),
        max_added_per_step=draw(limit) if "rate_limit" in names else None,
        max_removed_per_step=draw(limit) if "rate_limit" in names else None,
        min_dwell_steps=dwell,
        steps_since_change=draw(st.none() | st.integers(0, 4)) if dwell else None,
        power_w=power_w if rated else None,
        power_cap_w=cap_w if "power_cap" in names else None,
        energy_budget_j=share * horizon * float(power_w.mean())
        if "energy_budget" in names
        else None,
        step_s=1.0 if rated else None,
    )


def _backlog(random: np.random.Generator, capacity: FloatArray, horizon: int) -> Backlog:
    service_per_s = capacity * random.uniform(0.5, 1.0, capacity.shape)
    return Backlog(
        initial_items=float(random.choice([0.0, 1.0, 8.0])),
        arrivals_per_s=random.uniform(0.2, 1.1, horizon) * float(capacity.mean()),
        service_per_s=service_per_s,
        step_s=1.0,
    )
