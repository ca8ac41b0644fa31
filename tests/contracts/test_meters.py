"""What every meter promises: totals that never fall, and a reason where there is none."""

import errno
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Protocol

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.description import HostDescription
from energy.meters.contract import EnergyReading, Meter, PowerSource
from energy.meters.modelled import ModelledMeter
from energy.meters.powercap import PowercapMeter
from energy.meters.pyrapl import PyraplMeter
from energy.power import prior_power
from energy.tree import POWERCAP
from tests.energy.meters.rapl_tree import AMD_RANGE_UJ, RaplTree
from tests.support.faulty_host import FaultyHost

POWER_W = 100.0
JOULE_UJ = 1_000_000


class Bench(Protocol):
    """A meter and the host it measures."""

    meter: Meter
    source: PowerSource
    counts: bool
    """Whether it reads counters, which wrap and jump."""

    def spend(self, energy_uj: int) -> None: ...

    def set_readable(self, readable: bool) -> None: ...


class FolderBench:
    source: PowerSource = "measured"
    counts = True

    def __init__(self, root: Path, make: Callable[..., Meter]) -> None:
        self._rapl = RaplTree(root)
        # The package is about to wrap, its memory has just done so.
        self._rapl.add("intel-rapl:0", "package-0", AMD_RANGE_UJ - JOULE_UJ, AMD_RANGE_UJ)
        self._rapl.add("intel-rapl:0:0", "dram", 0, AMD_RANGE_UJ)
        self.meter = make(self._rapl.tree)
        self._readable = True

    def spend(self, energy_uj: int) -> None:
        if self._readable:
            self._rapl.spend("intel-rapl:0", energy_uj)

    def set_readable(self, readable: bool) -> None:
        if readable != self._readable:
            (self._rapl.show if readable else self._rapl.hide)("intel-rapl:0")
        self._readable = readable


class EmulatedBench:
    source: PowerSource = "emulated"
    counts = True

    def __init__(self) -> None:
        self._host = FaultyHost(
            HostDescription("amd-pstate-epp", psys=True, start_uj=AMD_RANGE_UJ - JOULE_UJ)
        )
        self.meter: Meter = PowercapMeter(self._host, source="emulated")

    def spend(self, energy_uj: int) -> None:
        for zone in ("package-0", "package-0/core", "psys"):
            self._host.add_energy_uj(zone, energy_uj)

    def set_readable(self, readable: bool) -> None:
        path = f"{POWERCAP}/intel-rapl:0/energy_uj"
        self._host.inject(path, None if readable else errno.EACCES)


class ModelledBench:
    source: PowerSource = "modelled"
    counts = False

    def __init__(self) -> None:
        self._readable = True
        power = prior_power(1, 2_000_000, POWER_W)
        self.meter: Meter = ModelledMeter(power, self._busy_cores, lambda: 2_000_000)

    def _busy_cores(self) -> float:
        if not self._readable:
            raise OSError(errno.EIO, "Input/output error", "/proc/stat")
        return 1.0

    def spend(self, energy_uj: int) -> None:
        """It follows the utilisation and the time, whatever is drawn."""

    def set_readable(self, readable: bool) -> None:
        self._readable = readable


BENCHES: dict[str, Callable[[Path], Bench]] = {
    "powercap": lambda root: FolderBench(root, PowercapMeter),
    "pyrapl": lambda root: FolderBench(root, PyraplMeter),
    "powercap on an emulated host": lambda root: EmulatedBench(),
    "modelled": lambda root: ModelledBench(),
}

every_meter = pytest.mark.parametrize("name", BENCHES)


@contextmanager
def bench_of(name: str) -> Iterator[Bench]:
    with TemporaryDirectory() as root:
        yield BENCHES[name](Path(root))


def total_uj(reading: EnergyReading) -> int:
    assert reading.total_uj is not None
    return reading.total_uj


@every_meter
def test_one_poll_is_a_reading_of_nothing_yet(name: str) -> None:
    with bench_of(name) as bench:
        reading = bench.meter.poll(123.0)
        assert reading.at_s == 123.0
        assert reading.total_uj == 0
        assert reading.rejected_jumps == 0
        assert all(zone.energy_uj == 0 and zone.reason is None for zone in reading.zones)
        names = [zone.name for zone in reading.zones]
        assert len(set(names)) == len(names) > 0


@every_meter
def test_every_reading_says_where_it_comes_from(name: str) -> None:
    with bench_of(name) as bench:
        assert bench.meter.name == name.partition(" ")[0]
        assert bench.meter.source == bench.source
        assert [bench.meter.poll(second).source for second in (0.0, 1.0)] == [bench.source] * 2


@every_meter
def test_energy_is_power_times_time(name: str) -> None:
    with bench_of(name) as bench:
        bench.meter.poll(0.0)
        # Ten minutes: on the counters, more than one turn.
        for second in range(1, 601):
            bench.spend(round(POWER_W * JOULE_UJ))
            reading = bench.meter.poll(float(second))
        assert total_uj(reading) == pytest.approx(600 * POWER_W * JOULE_UJ)
        assert reading.rejected_jumps == 0


@every_meter
def test_the_same_moment_twice_changes_nothing(name: str) -> None:
    with bench_of(name) as bench:
        bench.meter.poll(0.0)
        bench.spend(50 * JOULE_UJ)
        first = bench.meter.poll(1.0)
        assert bench.meter.poll(1.0) == first


@every_meter
def test_what_cannot_be_read_is_none_with_words_until_it_can(name: str) -> None:
    with bench_of(name) as bench:
        bench.meter.poll(0.0)
        bench.spend(50 * JOULE_UJ)
        before = bench.meter.poll(1.0)
        bench.set_readable(False)
        blind = bench.meter.poll(2.0)
        assert blind.total_uj is None
        (zone,) = [zone for zone in blind.zones if zone.energy_uj is None]
        assert zone.reason is not None
        assert len(zone.reason.split()) >= 3
        bench.set_readable(True)
        bench.spend(50 * JOULE_UJ)
        after = bench.meter.poll(3.0)
        assert all(zone.reason is None for zone in after.zones)
        assert total_uj(after) > total_uj(before)


@every_meter
def test_a_meter_that_starts_blind_sees_later(name: str) -> None:
    with bench_of(name) as bench:
        bench.set_readable(False)
        assert bench.meter.poll(0.0).total_uj is None
        bench.set_readable(True)
        start_uj = total_uj(bench.meter.poll(1.0))
        bench.spend(50 * JOULE_UJ)
        assert total_uj(bench.meter.poll(2.0)) > start_uj


@every_meter
def test_nothing_is_invented_in_a_long_gap(name: str) -> None:
    gap_s = 10 * AMD_RANGE_UJ // round(POWER_W * JOULE_UJ)
    drawn_uj = round(gap_s * POWER_W * JOULE_UJ)
    with bench_of(name) as bench:
        bench.meter.poll(0.0)
        bench.spend(20 * JOULE_UJ)
        before = bench.meter.poll(1.0)
        bench.spend(drawn_uj)
        after = bench.meter.poll(1.0 + gap_s)
        assert total_uj(before) <= total_uj(after) <= total_uj(before) + drawn_uj + 1
        assert after.rejected_jumps >= before.rejected_jumps + bench.counts
        bench.spend(20 * JOULE_UJ)
        assert total_uj(bench.meter.poll(2.0 + gap_s)) > total_uj(after)


events = st.lists(
    st.tuples(
        st.one_of(st.just(0.0), st.floats(-5.0, 60.0)),
        st.integers(0, 2 * AMD_RANGE_UJ),
        st.booleans(),
    ),
    max_size=25,
)


@every_meter
@given(events)
def test_totals_never_fall_whatever_happens(
    name: str, events: list[tuple[float, int, bool]]
) -> None:
    with bench_of(name) as bench:
        now_s = 0.0
        highest: dict[str, int] = {}
        total = rejected = 0
        for elapsed_s, energy_uj, readable in events:
            now_s += elapsed_s
            bench.spend(energy_uj)
            bench.set_readable(readable)
            reading = bench.meter.poll(now_s)
            for zone in reading.zones:
                assert (zone.energy_uj is None) == (zone.reason is not None)
                if zone.energy_uj is not None:
                    assert zone.energy_uj >= highest.get(zone.name, 0)
                    highest[zone.name] = zone.energy_uj
            if reading.total_uj is not None:
                assert reading.total_uj >= total
                total = reading.total_uj
            assert reading.rejected_jumps >= rejected
            rejected = reading.rejected_jumps
