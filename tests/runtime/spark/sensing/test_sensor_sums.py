from collections.abc import Sequence

import pytest

from mpc.values import Configuration
from tests.runtime.spark.fake_query import IDLE, RUNNING, FakeQuery, recorded
from tests.runtime.spark.sensor_bench import Bench, batch, begun, ended_s, hosts, started_s


def test_cost_is_cpu_time_in_cycles_over_the_rows_it_was_for() -> None:
    query = FakeQuery()
    bench = begun(query)
    bench.fleet = hosts({"0": 10.0, "1": 20.0})
    query.report(batch(1, 0.1, 0.5, 100))
    assert bench.at(1.0).cost_cycles is None  # nothing to compare with
    bench.fleet = hosts({"0": 10.5, "1": 20.5})
    query.state = RUNNING
    assert bench.at(2.0).cost_cycles is None
    bench.fleet = hosts({"0": 11.0, "1": 21.0, "2": 5.0}, others_s={"7": 100.0})
    bench.current = Configuration(3, 2_000_000)
    query.report(batch(2, 1.1, 1.5, 100))
    assert bench.at(3.0).cost_cycles == pytest.approx((1.0 * 1e9 + 1.0 * 2e9) / 100)


def test_an_executor_without_cpu_time_makes_the_cost_unknown() -> None:
    query = FakeQuery()
    bench = begun(query)
    bench.fleet = hosts({"0": 10.0, "1": 10.0})
    bench.at(1.0)
    bench.fleet = hosts({"0": 11.0})
    query.report(batch(1, 0.1, 0.5, 100))
    assert bench.at(2.0).cost_cycles is None


def test_what_an_idle_engine_uses_is_no_cost_of_a_row() -> None:
    query = FakeQuery()
    bench = begun(query)
    query.state = IDLE
    bench.fleet = hosts({"0": 10.0, "1": 10.0})
    bench.at(1.0)
    bench.fleet = hosts({"0": 20.0, "1": 20.0})
    bench.at(2.0)
    query.state = RUNNING
    bench.fleet = hosts({"0": 20.5, "1": 20.5})
    query.report(batch(1, 2.1, 0.5, 100))
    assert bench.at(3.0).cost_cycles == pytest.approx(1e9 / 100)


def test_power_comes_with_its_label() -> None:
    bench = Bench(FakeQuery())
    bench.fleet = hosts({"0": 1.0}, power_w=42.0)
    measured = bench.at(1.0)
    assert (measured.power_w, measured.power_source) == (42.0, "emulated")


def test_a_batch_ran_on_what_was_observed_meanwhile() -> None:
    query = FakeQuery()
    bench = begun(query)
    bench.current = Configuration(4, 2_000_000)
    bench.at(1.0)
    bench.current = Configuration(8, 2_000_000)
    query.report(batch(1, 0.0, 2.0, 100))
    assert bench.at(2.0).batches[0].ran_on == Configuration(6, 2_000_000)


def dispersion(rows: Sequence[int]) -> float | None:
    query = FakeQuery()
    bench = begun(query)
    for number, count in enumerate(rows, start=1):
        query.report(batch(number, number - 1.0, 0.5, count))
        measured = bench.at(float(number))
    found = measured.arrival_dispersion
    assert measured.arrival_cv == (None if found is None else pytest.approx(found**0.5))
    return found


def test_irregular_arrivals_are_noticed_and_a_trend_is_not() -> None:
    assert dispersion([100] * 5) is None
    assert dispersion([100] * 20) == pytest.approx(0.0)
    assert dispersion([50, 150] * 10) == pytest.approx(50.0, rel=0.1)
    assert dispersion([1000 + 20 * step for step in range(20)]) == pytest.approx(0.17, rel=0.1)


@pytest.mark.parametrize(
    "name", ["rate-observed-shuffle", "rate-observed-stateful", "rate-every-2s", "file-idle"]
)
def test_of_a_recorded_run_every_row_is_counted_once(name: str) -> None:
    documents = recorded(name)
    query = FakeQuery(documents[0]["runId"])
    began_s = started_s(documents[0])
    bench = Bench(query)
    bench.clock.advance(began_s)
    rows = arrived = 0.0
    shown = 0
    for step in range(1, 40):
        now_s = began_s + 0.5 * step
        due = [made for made in documents[shown:] if ended_s(made) <= now_s]
        query.report(*due)
        shown += len(due)
        measured = bench.at(now_s)
        reading = bench.sensor.readings[0]
        rows += sum(sample.rows for sample in measured.batches)
        if measured.arrivals_per_s is not None:
            arrived += measured.arrivals_per_s * (reading.arrivals_span_s or 0.0)
    total = sum(made["numInputRows"] for made in documents)
    assert rows == total
    # The rows of the first trigger of a run have no time to be counted over.
    assert arrived == pytest.approx(total - documents[0]["numInputRows"])


def test_of_a_recorded_lagging_source_the_arrivals_are_true() -> None:
    """1,000 rows a second arrived for six seconds, and batches of 300 were taken."""
    documents = recorded("python-source-lagging")
    query = FakeQuery(documents[0]["runId"])
    bench = Bench(query, step_s=0.2)
    bench.clock.advance(started_s(documents[0]))
    rates = []
    for made in documents[:8]:
        query.report(made)
        measured = bench.at(ended_s(made))
        if bench.sensor.readings[0].arrivals_kind == "source":
            rates.append(measured.arrivals_per_s)
    assert len(rates) >= 4
    assert all(rate == pytest.approx(1000.0, rel=0.05) for rate in rates)
    assert bench.sensor.readings[0].waiting_rows == 5916 - 2100
