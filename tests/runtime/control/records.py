"""Arbitrary steps, for properties of the journal."""

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from mpc.bounds import Bounds, Reason
from mpc.events import Event, EventKind
from mpc.values import (
    Alternative,
    Applied,
    BatchSample,
    Configuration,
    ConfigurationSpace,
    CostTerms,
    Decision,
    FloatArray,
    IntArray,
    Measurement,
    Plan,
)
from runtime.control.cluster import StartUpSamples
from runtime.control.journal import Resumption, StepRecord

numbers = st.floats(allow_nan=False)
"""With both infinities and both zeros."""
maybe = st.none() | numbers
texts = st.text(st.characters(codec="utf-8"), max_size=30)
configurations = st.builds(Configuration, st.integers(0, 1000), st.integers(0, 10_000_000))


def float_arrays() -> st.SearchStrategy[FloatArray | None]:
    shapes = st.integers(0, 20)
    return st.none() | arrays.arrays(np.float64, shapes, elements=st.floats(width=64))


def int_arrays() -> st.SearchStrategy[IntArray | None]:
    return st.none() | arrays.arrays(np.int64, st.integers(0, 20))


measurements = st.builds(
    Measurement,
    step=st.integers(0, 2**53),
    time_s=numbers,
    requested=configurations,
    observed=configurations,
    arrivals_per_s=maybe,
    arrival_cv=maybe,
    completions_per_s=maybe,
    backlog_items=maybe,
    cost_cycles=maybe,
    key_frequencies=float_arrays(),
    key_cost_cycles=float_arrays(),
    latency_s=maybe,
    latency_kind=st.sampled_from((None, "exact", "estimated")),
    congestion=maybe,
    batches=st.lists(st.builds(BatchSample, st.integers(0), numbers, configurations)).map(tuple),
    useful_executors=st.none() | st.integers(1, 1000),
    startup_s=maybe,
    power_w=maybe,
    power_source=st.sampled_from(("measured", "modelled", "emulated")),
)
plans = st.builds(
    Plan,
    trajectory=st.lists(configurations, max_size=5).map(tuple),
    cost=st.builds(CostTerms, numbers, numbers, numbers),
    lower_bound=numbers,
    nodes=st.integers(0),
    proven=st.booleans(),
    relaxed=st.lists(texts, max_size=2).map(tuple),
)
decisions = st.builds(
    Decision,
    target=configurations,
    reason=texts,
    plan=st.none() | plans,
    expected_arrivals_per_s=float_arrays(),
    key_owners=int_arrays(),
    alternatives=st.lists(
        st.builds(
            Alternative, configurations, st.builds(CostTerms, numbers, numbers, numbers), texts
        ),
        max_size=3,
    ).map(tuple),
    cooling_down=st.booleans(),
)
bounds = st.builds(
    Bounds,
    st.builds(
        ConfigurationSpace,
        st.integers(1, 5),
        st.integers(5, 1000),
        st.lists(st.integers(1, 10_000_000), min_size=1, max_size=4, unique=True).map(
            lambda khz: tuple(sorted(khz))
        ),
    ),
    st.lists(st.builds(Reason, st.sampled_from(EventKind), texts), max_size=2).map(tuple),
)
records = st.builds(
    StepRecord,
    at_s=numbers,
    mode=st.sampled_from(("control", "advise")),
    measurement=measurements,
    bounds=bounds,
    decision=decisions,
    target=configurations,
    applied=st.builds(Applied, configurations, configurations),
    dead_time_s=numbers,
    took_s=maybe,
    events=st.lists(st.builds(Event, st.sampled_from(EventKind), texts), max_size=3).map(tuple),
    queries=st.just(({"query": "q", "rows": 3},)),
    start_up=st.builds(StartUpSamples, st.lists(numbers, max_size=3).map(tuple)),
    resumption=st.none()
    | st.builds(Resumption, st.integers(0), st.none() | st.integers(0), st.integers(0, 600)),
)


def plain_record(step: int) -> StepRecord:
    place = Configuration(2, 2_000_000)
    return StepRecord(
        at_s=1000.0 + step,
        mode="control",
        measurement=Measurement(step, float(step), place, place, arrivals_per_s=step / 3),
        bounds=Bounds(ConfigurationSpace(1, 6, (1_000_000, 2_000_000))),
        decision=Decision(place, "hold"),
        target=place,
        applied=Applied(place, place),
        dead_time_s=1.0,
    )
