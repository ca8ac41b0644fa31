"""The vector loops of the batch model against the same formulas, one number at a time."""

import numpy as np
import pytest

from mpc.micro_batch import BatchModel, batch_latency_s, micro_batch_latency_s
from mpc.values import ConfigurationSpace, FloatArray
from tests.mpc.plain_micro_batch import plain_latency_s

SPACE = ConfigurationSpace(1, 7, (1_200_000, 1_600_000, 2_000_000))
CAPACITY_HZ = np.multiply.outer(SPACE.executors.astype(np.float64), SPACE.frequencies_hz)


def random_model(random: np.random.Generator, interval_s: float) -> BatchModel:
    """Each kind of variability is there or is not, so that every branch is taken."""
    overhead_cv, work_cv = random.uniform(0.0, 0.8, 2) * random.integers(0, 2, 2)
    return BatchModel(
        overhead_s=float(random.choice([0.0, 0.05, 0.4, 3.0])),
        row_cycles=float(random.uniform(1e5, 4e6)),
        batch_cycles=float(random.choice([0.0, 2e8, 3e9])),
        overhead_cv=float(overhead_cv),
        work_cv=float(work_cv),
        arrival_dispersion=float(random.choice([0.0, 1.0, 50.0])),
        interval_s=interval_s,
    )


def rates(model: BatchModel, random: np.random.Generator) -> FloatArray:
    """Idle to far beyond what any executors can do, and exactly on the edges."""
    edges = np.array([0.0, 0.98, 1.0])
    least, most = (edges * hz / model.row_cycles for hz in (CAPACITY_HZ.min(), CAPACITY_HZ.max()))
    return np.concatenate([least, most, random.uniform(0.0, 3.0 * most[-1], 12)])


@pytest.mark.parametrize("seed", range(30))
@pytest.mark.parametrize("interval_s", [0.0, 0.3, 1.0, 20.0])
def test_mean_latencies(seed: int, interval_s: float) -> None:
    random = np.random.default_rng(seed)
    model = random_model(random, interval_s)
    arrivals_per_s = rates(model, random)
    table = micro_batch_latency_s(arrivals_per_s, model, SPACE)
    plain = [[plain_latency_s(r, hz, model) for hz in CAPACITY_HZ.ravel()] for r in arrivals_per_s]
    np.testing.assert_allclose(table.reshape(len(plain), -1), plain, rtol=1e-9, atol=0.0)
    alone = [[batch_latency_s(r, hz, model) for hz in CAPACITY_HZ.ravel()] for r in arrivals_per_s]
    np.testing.assert_allclose(alone, plain, rtol=1e-9, atol=0.0)
