"""The simulated query: tuples are kept, queues behave as theory says, pauses and nodes count."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.edf.cluster import CORES, NODES, SLOTS, QueryDeployment
from benchmarks.edf.plant import QueryPlant, Round
from benchmarks.edf.query import TOP_ROUTES, Operator, Query
from benchmarks.edf.workload import HIGHEST_PER_S, LOWEST_PER_S, TaxiRates, taxi_rates
from mpc.policies.edf.values import Migration, Request, ScaleIn, ScaleOut
from mpc.values import FloatArray

IDLE = (0.0,) * NODES
SOURCE = Operator("dataSource", (), 0.0)
WORK: Query = (SOURCE, Operator("work", ("dataSource",), 0.002, max_replicas=3))


def plant(query: Query, other_cores: tuple[float, ...] = IDLE) -> QueryPlant:
    return QueryPlant(query, QueryDeployment.smallest(query, other_cores), np.random.default_rng(1))


def poisson(rate_per_s: float, end_s: float) -> FloatArray:
    generator = np.random.default_rng(2)
    return np.sort(generator.uniform(0.0, end_s, generator.poisson(rate_per_s * end_s)))


def steady(query: Query, changes: list[Request], rate_per_s: float) -> Round:
    """Five minutes at one rate, after the changes."""
    running = plant(query)
    for change in changes:
        running.deployment.carry_out(change)
        running.pause({change.operator}, 0.0)
    return running.advance(0.0, 300.0, poisson(rate_per_s, 300.0))


def test_one_replica_is_an_m_m_1_queue() -> None:
    """R = s / (1 - rho): 2 ms at 70 % is 6.67 ms."""
    record = steady(WORK, [], 350.0)
    sample = record.samples["work"]
    assert sample.response_s == pytest.approx(0.002 / 0.3, rel=0.1)
    assert sample.utilisations is not None
    assert sample.utilisations[0] == pytest.approx(0.7, abs=0.02)
    assert sample.arrivals_per_s == pytest.approx(350.0, rel=0.02)


def test_replicas_share_the_load() -> None:
    record = steady(WORK, [ScaleOut("work", 1.0, 0)], 350.0)
    sample = record.samples["work"]
    assert sample.utilisations == pytest.approx((0.35, 0.35), abs=0.02)
    assert sample.response_s == pytest.approx(0.002 / 0.65, rel=0.1)


def test_a_pause_loses_nothing_and_the_backlog_drains() -> None:
    running = plant(WORK)
    emitted_s = poisson(250.0, 90.0)
    done = 0
    worst_s = 0.0
    for start_s in (0.0, 30.0, 60.0):
        if start_s == 30.0:
            running.deployment.carry_out(ScaleOut("work", 1.0, 1))
            running.pause({"work"}, 45.0)
        here = emitted_s[(emitted_s >= start_s) & (emitted_s < start_s + 30.0)]
        record = running.advance(start_s, start_s + 30.0, here)
        done += len(record.response_s)
        worst_s = max(worst_s, float(record.response_s.max()))
    assert 14.0 < worst_s < 17.0, "what came first waited for the whole pause"
    assert done >= len(emitted_s) - 10, "only tuples on the way are left"
    assert record.mean_response_s == pytest.approx(0.004, abs=0.003)


def test_an_overloaded_queue_is_dealt_out_anew_to_new_replicas() -> None:
    running = plant(WORK)
    over = running.advance(0.0, 30.0, poisson(900.0, 30.0))
    waiting = 900 * 30 - len(over.response_s)
    assert waiting > 10_000
    for node in (0, 1):
        running.deployment.carry_out(ScaleOut("work", 1.0, node))
    running.pause({"work"}, 30.0)
    drained = running.advance(30.0, 60.0, np.empty(0))
    assert len(drained.response_s) == pytest.approx(waiting, abs=1000)


def test_the_ranking_works_in_bursts_that_utilisation_does_not_show() -> None:
    """Calibration: two replicas at 500 tuples/s take about 210 ms at about 26 % utilisation."""
    record = steady(TOP_ROUTES, [ScaleOut("partialRank", 1.0, 2)], 500.0)
    ranking = record.samples["partialRank"]
    assert ranking.response_s == pytest.approx(0.21, abs=0.015)
    for name, sample in record.samples.items():
        assert sample.utilisations is not None
        assert max(sample.utilisations) < 0.72, name
    for name in ("parser", "filterByCoordinates", "computeRouteID", "countByWindow"):
        response_s = record.samples[name].response_s
        assert response_s is not None
        assert response_s < 0.0055, name


def test_a_node_without_cores_to_spare_slows_its_replicas() -> None:
    busy = (2.0 * CORES, *IDLE[1:])
    running = plant(TOP_ROUTES, busy)
    name = next(one for one, _ in running.deployment.hosted(0) if one != "dataSource")
    emitted_s = poisson(200.0, 60.0)
    before = running.advance(0.0, 30.0, emitted_s[emitted_s < 30.0]).samples[name]
    slow = running.advance(30.0, 60.0, emitted_s[emitted_s >= 30.0]).samples[name]
    assert before.utilisations is not None
    assert slow.utilisations is not None
    assert slow.utilisations[0] > 1.8 * before.utilisations[0]


def test_requests_change_the_deployment() -> None:
    deployment = QueryDeployment.smallest(TOP_ROUTES, IDLE)
    smallest = deployment.replicas
    assert smallest == 8
    deployment.carry_out(ScaleOut("parser", 1.0, 3))
    assert deployment.placed["parser"][-1] == 3
    deployment.carry_out(Migration("parser", 1.0, 1, 0))
    assert deployment.placed["parser"][-1] == 0
    deployment.carry_out(ScaleIn("parser", 1.0, 1))
    assert deployment.replicas == smallest
    view = deployment.view(dict.fromkeys(deployment.placed, (1.0,)))
    assert view.free_slots == (SLOTS - 2,) * NODES
    assert view.utilisations == pytest.approx((2 / CORES,) * NODES)


def test_generated_days_have_the_papers_range_and_rhythm() -> None:
    rates = taxi_rates(None, np.random.default_rng(1))
    assert "generated" in rates.source
    values = rates.half_hourly_per_s
    assert (values.min(), values.max()) == (LOWEST_PER_S, HIGHEST_PER_S)
    by_hour = values.reshape(5, 48).mean(axis=0)
    assert 3 <= by_hour.argmin() / 2 <= 7
    assert 16 <= by_hour.argmax() / 2 <= 23


def test_real_days_are_read_where_they_are(shared_data: Path) -> None:
    rates = taxi_rates(shared_data, np.random.default_rng(1))
    assert "NAB" in rates.source
    assert len(rates.half_hourly_per_s) == 240
    assert (rates.half_hourly_per_s.min(), rates.half_hourly_per_s.max()) == (150.0, 500.0)


def test_rides_follow_the_rate_and_come_in_order() -> None:
    rates = TaxiRates("test", np.array([200.0, 400.0]))
    assert rates.at(90.0) == pytest.approx(300.0)
    assert rates.at(270.0) == pytest.approx(300.0), "starts again after the last value"
    times_s = rates.arrivals(0.0, 180.0, np.random.default_rng(1))
    assert (np.diff(times_s) >= 0).all()
    assert 0.0 <= times_s[0] <= times_s[-1] < 180.0
    assert len(times_s) == pytest.approx(300 * 180, rel=0.2)
    late = (times_s >= 90.0).sum()
    assert late > len(times_s) - late
