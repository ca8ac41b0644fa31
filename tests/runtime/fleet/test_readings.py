"""Power and CPU time from counters: restarts, standing meters, executors that come and go."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from runtime.agent.wire.messages import EnergyReport, ExecutorReport, ExecutorsReport
from runtime.fleet.readings import CpuCounters, PowerGauge

STALE_S = 6.0


def energy(
    at_ms: int,
    total_uj: int | None,
    started_ms: int = 0,
    boot_id: str = "boot",
    source: str = "measured",
) -> EnergyReport:
    return EnergyReport(at_ms, boot_id, started_ms, source, total_uj, ())


def executors(*found: tuple[str, int, int]) -> ExecutorsReport:
    return ExecutorsReport(
        0, tuple(ExecutorReport("app", number, pid, 1, cpu_ms) for number, pid, cpu_ms in found)
    )


def power_w(gauge: PowerGauge) -> float | None:
    return gauge.power_w


def test_two_readings_make_a_power() -> None:
    gauge = PowerGauge(STALE_S)
    gauge.take(energy(1000, 5_000_000), 0.0)
    assert power_w(gauge) is None
    gauge.take(energy(3000, 65_000_000), 2.0)
    assert gauge.source == "measured"
    assert power_w(gauge) == 30.0


@pytest.mark.parametrize(
    "second",
    [
        energy(3000, 65_000_000, started_ms=1),
        energy(3000, 65_000_000, boot_id="other"),
        energy(3000, 65_000_000, source="modelled"),
        energy(3000, 4_000_000),
        energy(500, 65_000_000),
        energy(3000, None),
        energy(3000, 65_000_000, source="guessed"),
    ],
)
def test_readings_that_do_not_belong_together_make_none(second: EnergyReport) -> None:
    gauge = PowerGauge(STALE_S)
    gauge.take(energy(900, 4_900_000), 0.0)
    gauge.take(energy(1000, 5_000_000), 0.1)
    assert power_w(gauge) == 1.0
    gauge.take(second, 2.0)
    assert power_w(gauge) is None


def test_a_counter_between_two_polls_keeps_its_power_for_a_while() -> None:
    gauge = PowerGauge(STALE_S)
    gauge.take(energy(0, 0), 0.0)
    gauge.take(energy(1000, 30_000_000), 1.0)
    gauge.take(energy(1000, 30_000_000), 1.0 + STALE_S)
    assert power_w(gauge) == 30.0
    gauge.take(energy(1000, 30_000_000), 1.1 + STALE_S)
    assert power_w(gauge) is None
    gauge.take(energy(2000, 70_000_000), 1.2 + STALE_S)
    assert power_w(gauge) == 40.0


@given(st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 1000)), max_size=30))
def test_energy_is_never_made_up(steps: list[tuple[int, int]]) -> None:
    """Power times time is what the counter gained, however it is read."""
    gauge = PowerGauge(STALE_S)
    at_ms, total_uj = 0, 0
    gauge.take(energy(at_ms, total_uj), 0.0)
    for elapsed_ms, watts in steps:
        at_ms += elapsed_ms
        total_uj += elapsed_ms * watts * 1000
        gauge.take(energy(at_ms, total_uj), at_ms / 1000)
        if elapsed_ms:
            assert power_w(gauge) == pytest.approx(watts)


def test_an_executor_that_came_back_under_its_old_id_is_another() -> None:
    counters = CpuCounters()
    (first,) = counters.take(executors(("1", 10, 4000)))
    (second,) = counters.take(executors(("1", 11, 50)))
    assert (first.cpu_s, second.cpu_s) == (4.0, 0.05)


def test_an_executor_that_was_not_seen_for_a_moment_goes_on_where_it_was() -> None:
    counters = CpuCounters()
    counters.take(executors(("1", 10, 4000)))
    assert counters.take(executors()) == ()
    (use,) = counters.take(executors(("1", 10, 100)))
    assert use.cpu_s == pytest.approx(4.1)
    for _ in range(200):
        counters.take(executors())
    (use,) = counters.take(executors(("1", 10, 300)))
    assert use.cpu_s == pytest.approx(0.3)


@given(st.lists(st.integers(0, 100_000), min_size=1))
def test_cpu_times_never_fall(reported_ms: list[int]) -> None:
    counters = CpuCounters()
    seen_s = [counters.take(executors(("1", 10, cpu_ms)))[0].cpu_s for cpu_ms in reported_ms]
    assert seen_s == sorted(seen_s)
    assert seen_s[-1] >= reported_ms[-1] / 1000


def load(at_ms: int, busy_ms: int | None, *found: tuple[str, int, int]) -> ExecutorsReport:
    reports = tuple(ExecutorReport("app", each, pid, 2, cpu_ms) for each, pid, cpu_ms in found)
    return ExecutorsReport(at_ms, reports, busy_ms, 1_500_000)


def test_two_reports_make_busy_cores() -> None:
    counters = CpuCounters()
    (first,) = counters.take(load(1000, 50_000, ("1", 7, 400)))
    assert first.busy_cores is None
    assert counters.busy_cores is None
    one, new = counters.take(load(3000, 55_000, ("1", 7, 3400), ("2", 8, 1000)))
    assert (one.busy_cores, new.busy_cores) == (1.5, 0.5)
    assert counters.busy_cores == 2.5


@pytest.mark.parametrize("second", [load(1000, 50_100, ("1", 7, 500)), load(900, 10, ("1", 7, 5))])
def test_reports_of_one_moment_or_of_another_start_make_none(second: ExecutorsReport) -> None:
    counters = CpuCounters()
    counters.take(load(1000, 50_000, ("1", 7, 400)))
    (use,) = counters.take(second)
    assert use.busy_cores is None
    assert counters.busy_cores is None


def test_an_executor_that_was_away_has_no_busy_cores_at_once() -> None:
    counters = CpuCounters()
    counters.take(load(1000, None, ("1", 7, 400)))
    counters.take(load(2000, None))
    (back,) = counters.take(load(3000, None, ("1", 7, 2400)))
    assert back.busy_cores is None
