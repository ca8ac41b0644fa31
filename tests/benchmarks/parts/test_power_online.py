from pathlib import Path

import pytest

from benchmarks.parts.power_online import online_power_rows

SWEEPS = ["blackscholes", "pbzip2", "simple_mandelbrot"]


@pytest.mark.parametrize("application", SWEEPS)
def test_a_measured_sweep_is_learned_and_never_worse_than_the_prior(
    shared_data: Path, application: str
) -> None:
    sweep = shared_data / "power" / f"{application}_REPARA_results.csv"
    rows = online_power_rows(sweep, orders=10, seed=1)
    assert {row.prior for row in rows} == {"watts", "shape"}
    assert max(row.worst_excess for row in rows) <= 0.01
    later = [row for row in rows if row.readings >= 30]
    assert max(row.worst_mape for row in later) <= 0.06
    last = rows[-1]
    assert last.learned_share == 1
    assert last.mape < last.prior_mape
    assert last.mape <= last.best_mape + 0.002
