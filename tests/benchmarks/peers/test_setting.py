"""The cluster of the peers: its load is scaled, and idle executors draw less than busy ones."""

from pathlib import Path

import numpy as np
import pytest

from benchmarks.peers.setting import SPACE, PeerSetting, cluster_power, load
from energy.power import CalibratedPower
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import Configuration

STILL = MicroBatchTraits(
    overhead_s=0.25,
    row_cycles=1e6,
    trigger_interval_s=2.0,
    overhead_cv=0.0,
    row_cycles_cv=0.0,
    startup_s=0.5,
    startup_cv=0.0,
)
POWER = CalibratedPower(10.0, 0.0, 2.0, 0.0)
"""10 W for the host and 2 W for every busy executor at 1 GHz."""


def plant(rates_per_s: list[float], executors: int, idle_share: float = 1.0) -> MicroBatchPlant:
    return MicroBatchPlant(
        np.asarray(rates_per_s),
        STILL,
        POWER,
        Configuration(executors, 1_000_000),
        np.random.default_rng(1),
        step_s=2.0,
        idle_share=idle_share,
    )


def test_a_longer_file_is_averaged_and_its_peak_takes_the_share_of_the_capacity(
    tmp_path: Path,
) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("second,count\n" + "".join(f"{i},{i}\n" for i in range(10)))
    prepared = load(PeerSetting(file, max_steps=5, peak_load=0.9))
    # Means of pairs are 0.5 to 8.5; the busiest takes 18,000 of 20,000 rows/s.
    assert prepared.rates_per_s == pytest.approx(np.array([0.5, 2.5, 4.5, 6.5, 8.5]) * 18e3 / 8.5)
    assert prepared.source == "rates.csv, 2 values a step, peak at 90% load"


def test_a_file_of_zeros_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "rates.csv"
    file.write_text("0\n0\n0\n")
    with pytest.raises(ValueError, match="every rate is zero"):
        load(PeerSetting(file))


def test_the_idle_cluster_draws_about_half_of_its_full_power() -> None:
    power = cluster_power()
    full_w = float(power.power_w(20, SPACE.frequencies_khz[-1]))
    idle_w = float(power.power_w(20 * PeerSetting(Path()).idle_share, SPACE.frequencies_khz[-1]))
    assert idle_w / full_w == pytest.approx(0.474, abs=0.001)


def test_executors_draw_their_share_while_they_have_no_rows_to_work_on() -> None:
    # 2,000 rows/s on four executors of 1 GHz: the batch that begins at 2 s has 4,000 rows, 0.25 s
    # of overhead and 1 s of work.
    idle = plant([2_000.0, 2_000.0], 4, idle_share=0.25)
    while idle.wait_for_step():
        pass
    first, second = idle.records
    assert first.power_w == pytest.approx(10.0 + 0.25 * 8.0)
    assert second.power_w == pytest.approx((1.0 * 18.0 + 1.0 * 12.0) / 2.0)


def test_without_a_share_they_are_always_busy() -> None:
    busy = plant([2_000.0, 2_000.0], 4)
    while busy.wait_for_step():
        pass
    assert [record.power_w for record in busy.records] == [18.0, 18.0]


def test_a_starting_executor_works_and_is_held() -> None:
    growing = plant([0.0, 0.0], 1, idle_share=0.0)
    growing.wait_for_step()
    growing.steer(Configuration(3, 1_000_000))
    growing.wait_for_step()
    # Two start for half a second of the two; nobody has rows.
    assert growing.records[1].power_w == pytest.approx(10.0 + 4.0 * 0.5 / 2.0)
    assert growing.executor_s == pytest.approx(2.0 + 6.0)


@pytest.mark.parametrize("share", [-0.1, 1.1])
def test_a_share_outside_of_its_range_is_refused(share: float) -> None:
    with pytest.raises(ValueError, match="idle_share"):
        plant([1.0], 1, idle_share=share)
