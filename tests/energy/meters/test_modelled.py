import errno
from pathlib import Path

import pytest

from energy.meters.modelled import BusyCores, MeanFrequency, ModelledMeter, modelled_meter
from energy.power import prior_power
from energy.tree import CPUFREQ, FolderTree

POWER = prior_power(max_executors=4, max_frequency_khz=2_000_000, max_power_w=100.0)


def with_policies(root: Path, *current_khz: str) -> FolderTree:
    for number, khz in enumerate(current_khz):
        folder = root / CPUFREQ.lstrip("/") / f"policy{number}"
        folder.mkdir(parents=True)
        (folder / "scaling_cur_freq").write_text(f"{khz}\n")
        (folder / "cpuinfo_max_freq").write_text("2000000\n")
    return FolderTree(root)


def test_integrates_the_power_model_over_time() -> None:
    busy, khz = [0.0], [2_000_000.0]
    meter = ModelledMeter(POWER, lambda: busy[0], lambda: khz[0])
    assert meter.poll(10.0).total_uj == 0
    busy[0] = 4.0
    full = meter.poll(12.0)
    assert full.total_uj == pytest.approx(200e6)
    busy[0] = 0.0
    idle = meter.poll(13.0)
    assert full.total_uj is not None
    assert idle.total_uj == pytest.approx(full.total_uj + 100e6 * (0.081 + 0.168))
    assert idle.source == "modelled"
    assert idle.zones[0].name == "host"


def test_slower_clocks_draw_less() -> None:
    def energy_uj(khz: float) -> int | None:
        meter = ModelledMeter(POWER, lambda: 2.0, lambda: khz)
        meter.poll(0.0)
        return meter.poll(1.0).total_uj

    slow_uj, fast_uj = energy_uj(1_200_000), energy_uj(2_000_000)
    assert slow_uj is not None
    assert fast_uj is not None
    assert slow_uj < fast_uj


def test_the_same_moment_does_not_sample_the_utilisation_away() -> None:
    samples: list[float] = []

    def busy_cores() -> float:
        samples.append(1.0)
        return 1.0

    meter = ModelledMeter(POWER, busy_cores, lambda: 2e6)
    for now_s in (0.0, 1.0, 1.0, 1.0):
        meter.poll(now_s)
    assert len(samples) == 2


def test_utilisation_that_cannot_be_read_is_none_with_the_reason() -> None:
    broken = [False]

    def busy_cores() -> float:
        if broken[0]:
            raise OSError(errno.EIO, "Input/output error", "/proc/stat")
        return 4.0

    meter = ModelledMeter(POWER, busy_cores, lambda: 2e6)
    meter.poll(0.0)
    broken[0] = True
    reading = meter.poll(1.0)
    assert reading.total_uj is None
    assert "/proc/stat" in str(reading.zones[0].reason)
    broken[0] = False
    assert meter.poll(2.0).total_uj == pytest.approx(200e6)


@pytest.mark.parametrize(
    ("before", "after", "busy"),
    [
        ((10.0, 100.0), (14.0, 108.0), 2.0),
        ((10.0, 100.0), (18.0, 108.0), 4.0),
        ((10.0, 100.0), (10.0, 108.0), 0.0),
        ((10.0, 100.0), (10.0, 100.0), 0.0),
        ((10.0, 100.0), (9.0, 101.0), 0.0),
        ((10.0, 100.0), (20.0, 101.0), 4.0),
        ((10.0, 100.0), (11.0, 99.0), 0.0),
    ],
)
def test_busy_cores_are_the_share_of_the_time_between(
    before: tuple[float, float], after: tuple[float, float], busy: float
) -> None:
    times = iter([before, after])
    assert BusyCores(4, lambda: next(times))() == busy


def test_frequency_is_the_mean_over_the_policies(tmp_path: Path) -> None:
    frequency = MeanFrequency(with_policies(tmp_path, "1200000", "1800000", "<unknown>"))
    assert frequency() == 1_500_000
    assert frequency.highest_khz == 2_000_000


def test_frequency_is_the_highest_where_none_can_be_read(tmp_path: Path) -> None:
    assert MeanFrequency(with_policies(tmp_path, "<unknown>"))() == 2_000_000
    nothing = MeanFrequency(FolderTree(tmp_path / "nothing"))
    assert nothing() == nothing.highest_khz


def test_this_machine_has_a_modelled_meter(tmp_path: Path) -> None:
    meter = modelled_meter(with_policies(tmp_path, "2000000"), full_power_w=100.0)
    meter.poll(0.0)
    total_uj = meter.poll(1.0).total_uj
    assert total_uj is not None
    # Between an idle and a fully busy machine, whatever runs on it now.
    assert 100e6 * (0.081 + 0.168) - 1 <= total_uj <= 100e6 + 1
