"""Speed and energy of virtual DVFS, exact: a manual clock and CPU times that are given."""

import subprocess
import sys
from collections.abc import Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.description import HostDescription
from energy.emulation.dvfs.choose import choose_throttle
from energy.emulation.dvfs.contract import Backend
from energy.emulation.dvfs.dvfs import VirtualDvfs, package_zones
from energy.errors import ThrottleUnavailable
from energy.power import prior_power
from energy.prior import PowerFunction, prior_watts
from energy.processes import NS_PER_S, Process, ProcessStat
from energy.tree import CPUFREQ, POWERCAP
from tests.energy.emulation.dvfs.conftest import Children, wait_until
from tests.support.faulty_host import FaultyHost

MAX_KHZ = 2_000_000
FULL_W = 80.0


class Bench:
    """An emulated host with a manual clock, and processes whose CPU times are set by hand."""

    def __init__(
        self,
        cpus: int = 2,
        packages: int = 1,
        throttled: bool = True,
        core_share: float = 1.0,
        free_cpu_s: float = 0.0,
    ) -> None:
        self.host = FaultyHost(
            HostDescription(cpus=cpus, packages=packages, min_khz=400_000, max_khz=MAX_KHZ)
        )
        self.throttle = NotedThrottle()
        self.processes: dict[Process, ProcessStat] = {}
        self.power_w: PowerFunction = prior_watts(cpus, MAX_KHZ, FULL_W)
        self.now_s = 100.0
        self.dvfs = VirtualDvfs(
            self.host,
            self.power_w,
            self.throttle if throttled else None,
            max_khz=MAX_KHZ,
            cpus=range(cpus),
            packages=package_zones(self.host.zones, self.host.plan.package_of),
            core_share=core_share,
            free_cpu_s=free_cpu_s,
            take=lambda: dict(self.processes),
        )
        self.dvfs.tick(self.now_s)

    def start(self, pid: int, parent_pid: int = 1, own_s: float = 0.0) -> None:
        process = Process(pid, pid)
        self.processes[process] = ProcessStat(
            process, parent_pid, False, round(own_s * NS_PER_S), 0
        )

    def use(self, pid: int, cpu_s: float) -> None:
        stat = self.processes[Process(pid, pid)]
        self.processes[stat.process] = replace(stat, own_ns=stat.own_ns + round(cpu_s * NS_PER_S))

    def set_khz(self, khz: int, *cpus: int) -> None:
        for cpu in cpus or range(len(self.host.policies)):
            self.host.write(f"{CPUFREQ}/policy{cpu}/scaling_max_freq", str(khz))
        self.dvfs.tick(self.now_s)

    def tick(self, elapsed_s: float) -> None:
        self.now_s += elapsed_s
        self.dvfs.tick(self.now_s)

    def energy_j(self, package: int = 0) -> float:
        return int(self.host.read(f"{POWERCAP}/intel-rapl:{package}/energy_uj")) / 1e6


class NotedThrottle:
    """Keeps what it was told."""

    def __init__(self) -> None:
        self.backend: Backend = "cgroup-v1"
        self.shares: dict[str, float] = {}
        self.members: dict[str, tuple[Process, ...]] = {}
        self.writes = 0
        self.closed = False

    def attach(self, name: str, processes: Sequence[Process], cores: float) -> None:
        self.members[name] = tuple(processes)

    def set_share(self, name: str, share: float) -> None:
        if not 0 < share <= 1:
            raise ValueError(share)
        self.shares[name] = share
        self.writes += 1

    def update(self, name: str, processes: Sequence[Process]) -> None:
        self.members[name] = tuple(processes)

    def detach(self, name: str) -> None:
        del self.members[name], self.shares[name]

    def close(self) -> None:
        self.closed = True


@given(st.integers(1, 64), st.floats(0, 64), st.integers(100_000, 6_000_000), st.floats(1, 1000))
def test_the_prior_on_floats_is_the_prior(
    cores: int, busy: float, khz: int, full_power_w: float
) -> None:
    watts = prior_watts(cores, MAX_KHZ, full_power_w)(busy, khz)
    model = prior_power(cores, MAX_KHZ, full_power_w)
    assert watts == pytest.approx(float(model.power_w(busy, khz)))


def test_a_throttled_process_keeps_its_emulated_core_busy() -> None:
    bench = Bench()
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    bench.set_khz(1_200_000)
    assert bench.throttle.shares == {"tree": pytest.approx(0.6)}
    before_j = bench.energy_j()
    bench.use(10, 6.0)
    bench.tick(10.0)
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(10.0)
    assert bench.energy_j() - before_j == pytest.approx(10.0 * bench.power_w(1.0, 1_200_000))


def test_a_core_that_is_a_quarter_of_a_real_one_is_busy_all_the_same() -> None:
    bench = Bench(core_share=0.25)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    assert bench.throttle.shares == {"tree": pytest.approx(0.25)}
    bench.use(10, 2.5)
    bench.tick(10.0)
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(10.0)
    assert bench.energy_j() == pytest.approx(10.0 * bench.power_w(1.0, MAX_KHZ))
    bench.set_khz(1_200_000)
    assert bench.throttle.shares == {"tree": pytest.approx(0.15)}
    bench.use(10, 1.5)
    bench.tick(10.0)
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(20.0)


def test_a_family_starts_on_a_whole_core() -> None:
    bench = Bench(core_share=0.25, free_cpu_s=4.0)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    assert bench.throttle.shares == {"tree": pytest.approx(1.0)}
    bench.use(10, 3.0)
    bench.tick(3.0)
    assert bench.throttle.shares == {"tree": pytest.approx(1.0)}
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(3.0)
    bench.use(10, 1.0)
    bench.tick(1.0)
    assert bench.throttle.shares == {"tree": pytest.approx(0.25)}
    bench.use(10, 2.5)
    bench.tick(10.0)
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(4.0 + 10.0)


def test_a_family_that_wants_more_cores_than_there_are_gets_those_there_are() -> None:
    bench = Bench(cpus=1, core_share=0.5)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=2)
    # Two cores wanted, one there, and that is half of a real one.
    assert bench.throttle.shares == {"tree": pytest.approx(0.25)}


@given(st.floats(0.02, 1.0), st.integers(4, 20), st.floats(0.0, 1.0))
def test_cycles_do_not_depend_on_the_frequency_on_small_cores(
    core_share: float, hundred_mhz: int, busy: float
) -> None:
    bench = Bench(cpus=1, core_share=core_share)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    khz = hundred_mhz * 100_000
    bench.set_khz(khz)
    share = bench.throttle.shares["tree"]
    assert share == pytest.approx(max(0.01, core_share * khz / MAX_KHZ))
    bench.use(10, busy * share * 10.0)
    bench.tick(10.0)
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(busy * 10.0, abs=1e-6)


@pytest.mark.parametrize("core_share", [0.0, 1.5, float("nan")])
def test_a_core_is_a_part_of_a_real_one(core_share: float) -> None:
    with pytest.raises(ValueError, match="share must be above 0 and at most 1"):
        Bench(core_share=core_share)


def test_an_idle_host_draws_what_an_idle_host_draws() -> None:
    bench = Bench()
    bench.tick(5.0)
    assert bench.energy_j() == pytest.approx(5.0 * bench.power_w(0.0, MAX_KHZ))
    bench.set_khz(800_000)
    bench.tick(5.0)
    expected_j = 5.0 * (bench.power_w(0.0, MAX_KHZ) + bench.power_w(0.0, 800_000))
    assert bench.energy_j() == pytest.approx(expected_j)


def test_no_family_is_busier_than_its_cores() -> None:
    bench = Bench()
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    bench.use(10, 7.0)
    bench.tick(2.0)
    assert bench.energy_j() == pytest.approx(2.0 * bench.power_w(1.0, MAX_KHZ))


@given(st.lists(st.tuples(st.integers(4, 20), st.floats(0.0, 1.0), st.floats(0.01, 5.0))))
def test_cycles_and_energy_whatever_the_frequencies(
    stretches: list[tuple[int, float, float]],
) -> None:
    bench = Bench(cpus=1)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    cycles = used_s = expected_j = 0.0
    for hundred_mhz, busy, elapsed_s in stretches:
        khz = hundred_mhz * 100_000
        bench.set_khz(khz)
        emulated_s = bench.dvfs.emulated_cpu_s("tree")
        share = bench.throttle.shares["tree"]
        bench.use(10, busy * share * elapsed_s)
        used_s += busy * share * elapsed_s
        bench.tick(elapsed_s)
        cycles += (bench.dvfs.emulated_cpu_s("tree") - emulated_s) * khz * 1000
        expected_j += elapsed_s * bench.power_w(busy, khz)
    # The work a process has done is what it used at full speed, at every frequency.
    cycles_per_ns = MAX_KHZ / 1e6
    rounding = (len(stretches) + 1) * cycles_per_ns
    assert cycles == pytest.approx(used_s * MAX_KHZ * 1000, abs=rounding)
    # Microjoules are whole in the counter, and no part of one is lost between ticks.
    assert bench.energy_j() == pytest.approx(expected_j, rel=1e-6, abs=2e-6)


def test_the_old_frequency_holds_until_the_tick() -> None:
    bench = Bench()
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    bench.use(10, 1.0)
    bench.host.write(f"{CPUFREQ}/policy0/scaling_max_freq", "1000000")
    assert bench.throttle.shares["tree"] == 1.0
    bench.tick(1.0)
    assert bench.energy_j() == pytest.approx(bench.power_w(1.0, MAX_KHZ))
    assert bench.throttle.shares["tree"] == pytest.approx(0.75)


def test_families_on_their_own_cpus_run_at_their_own_frequency() -> None:
    bench = Bench(cpus=4, packages=2)
    bench.start(10)
    bench.start(20)
    bench.dvfs.attach("slow", [10], cores=2, cpus=(0, 1))
    bench.dvfs.attach("fast", [20], cores=2, cpus=(2, 3))
    bench.set_khz(1_000_000, 0, 1)
    assert bench.throttle.shares == {"slow": pytest.approx(0.5), "fast": 1.0}
    before = bench.energy_j(0), bench.energy_j(1)
    bench.use(10, 1.0)
    bench.use(20, 2.0)
    bench.tick(1.0)
    for package, khz in ((0, 1_000_000), (1, MAX_KHZ)):
        idle_w = bench.power_w(0.0, khz)
        expected_j = idle_w / 2 + bench.power_w(2.0, khz) - idle_w
        assert bench.energy_j(package) - before[package] == pytest.approx(expected_j)


def test_a_family_moves_off_cpus_that_went_offline() -> None:
    bench = Bench(cpus=2)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=2)
    bench.host.unplug(1)
    bench.tick(1.0)
    assert bench.throttle.shares["tree"] == pytest.approx(0.5)
    bench.use(10, 1.0)
    emulated_s = bench.dvfs.emulated_cpu_s("tree")
    bench.tick(1.0)
    assert bench.dvfs.emulated_cpu_s("tree") - emulated_s == pytest.approx(1.0)
    bench.host.plug(1)
    bench.tick(1.0)
    assert bench.throttle.shares["tree"] == 1.0


def test_descendants_belong_to_the_family_and_are_told_to_the_throttle() -> None:
    bench = Bench()
    bench.start(10)
    bench.start(11, parent_pid=10, own_s=3.0)
    bench.dvfs.attach("tree", [10, 99], cores=1)
    assert {process.pid for process in bench.throttle.members["tree"]} == {10, 11}
    bench.start(12, parent_pid=11, own_s=0.25)
    bench.use(11, 0.5)
    bench.tick(1.0)
    assert {process.pid for process in bench.throttle.members["tree"]} == {10, 11, 12}
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(0.75)


def test_what_a_family_used_before_it_left_is_billed() -> None:
    bench = Bench()
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    bench.use(10, 0.5)
    bench.dvfs.detach("tree")
    assert bench.dvfs.attached == frozenset()
    bench.use(10, 5.0)
    bench.tick(1.0)
    assert bench.energy_j() == pytest.approx(bench.power_w(0.5, MAX_KHZ))
    bench.tick(1.0)
    assert bench.energy_j() == pytest.approx(
        bench.power_w(0.5, MAX_KHZ) + bench.power_w(0.0, MAX_KHZ)
    )


def test_the_throttle_is_written_only_when_the_frequency_changed() -> None:
    bench = Bench()
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    for _ in range(5):
        bench.tick(1.0)
    assert bench.throttle.writes == 1
    bench.set_khz(1_200_000)
    bench.tick(1.0)
    assert bench.throttle.writes == 2


def test_without_a_throttle_the_frequency_shows_in_the_energy_alone() -> None:
    bench = Bench(throttled=False)
    bench.start(10)
    bench.dvfs.attach("tree", [10], cores=1)
    bench.set_khz(1_000_000)
    bench.use(10, 1.0)
    bench.tick(1.0)
    assert bench.dvfs.emulated_cpu_s("tree") == pytest.approx(1.0)
    assert bench.energy_j() == pytest.approx(bench.power_w(1.0, 1_000_000))


def test_wrong_use_is_refused() -> None:
    bench = Bench()
    bench.dvfs.attach("tree", [], cores=1)
    with pytest.raises(ValueError, match="attached already"):
        bench.dvfs.attach("tree", [], cores=1)
    with pytest.raises(ValueError, match="cores must be positive"):
        bench.dvfs.attach("other", [], cores=0)
    with pytest.raises(ValueError, match="now_s must be at least"):
        bench.tick(-1.0)


def test_a_throttle_that_refuses_leaves_nothing_attached() -> None:
    bench = Bench()
    refusing = RefusingThrottle()
    dvfs = VirtualDvfs(
        bench.host, bench.power_w, refusing, max_khz=MAX_KHZ, cpus=(0,), packages={}, take=dict
    )
    with pytest.raises(ThrottleUnavailable):
        dvfs.attach("tree", [], cores=1)
    assert dvfs.attached == frozenset()
    assert refusing.members == {}


class RefusingThrottle(NotedThrottle):
    def set_share(self, name: str, share: float) -> None:
        self.shares[name] = share
        raise ThrottleUnavailable(name)


def test_dies_share_the_cpus_of_their_package() -> None:
    zones = ("package-0", "package-0/dram", "psys", "package-1-die-0", "package-1-die-1")
    package_of = dict.fromkeys(range(4), 0) | dict.fromkeys(range(4, 9), 1)
    assert package_zones(zones, package_of) == {
        "package-0": (0, 1, 2, 3),
        "package-1-die-0": (4, 5),
        "package-1-die-1": (6, 7, 8),
    }


def test_real_processes_move_the_counter_of_the_host(children: Children) -> None:
    busy = children.busy()
    host = FaultyHost(HostDescription(cpus=1, min_khz=400_000, max_khz=MAX_KHZ))
    power_w = prior_watts(1, MAX_KHZ, FULL_W)
    now_s = 0.0
    with VirtualDvfs(
        host,
        power_w,
        choose_throttle("auto"),
        max_khz=MAX_KHZ,
        cpus=(0,),
        packages=package_zones(host.zones, host.plan.package_of),
    ) as dvfs:
        host.write(f"{CPUFREQ}/policy0/scaling_max_freq", "1000000")
        dvfs.attach("tree", [busy.pid], cores=1)
        dvfs.tick(now_s)

        def has_run() -> bool:
            nonlocal now_s
            now_s += 1.0
            dvfs.tick(now_s)
            return dvfs.emulated_cpu_s("tree") > 0.2

        wait_until(has_run)
        energy_j = int(host.read(f"{POWERCAP}/intel-rapl:0/energy_uj")) / 1e6
        assert now_s * power_w(0.0, 1_000_000) < energy_j <= now_s * power_w(1.0, 1_000_000)


def test_the_agent_does_not_grow_by_arrays() -> None:
    modules = "energy.emulation.dvfs.dvfs, energy.emulation.dvfs.choose, energy.prior"
    program = f"import sys, {modules}; sys.exit('numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", program], check=True)
