"""The host as a tree: errors, permissions, faults, snapshots, threads."""

import errno
import threading

import pytest

from energy.emulation.description import HostDescription
from energy.tree import CPU, CPUFREQ, POWERCAP, Tree
from tests.energy.emulation.hosts import at, refused
from tests.support.faulty_host import FaultyHost

MAX = at("scaling_max_freq")
ENERGY = f"{POWERCAP}/intel-rapl:0/energy_uj"


@pytest.fixture
def host() -> FaultyHost:
    return FaultyHost()


def test_it_is_a_tree(host: FaultyHost) -> None:
    tree: Tree = host
    assert tree.names("/") == ("sys",)
    assert tree.names(f"{CPUFREQ}/") == tree.names(CPUFREQ)
    assert tree.names(CPUFREQ) == ("boost", "policy0", "policy1", "policy2", "policy3")
    assert tree.names(MAX) == tree.names("/proc") == ()
    assert tree.mode(CPUFREQ) == tree.mode("/") == 0o755
    assert tree.mode("/proc") is None
    assert host.policies == ("policy0", "policy1", "policy2", "policy3")


@pytest.mark.parametrize(("path", "number"), [("/sys/none", errno.ENOENT), (CPUFREQ, errno.EISDIR)])
def test_what_is_no_file(host: FaultyHost, path: str, number: int) -> None:
    with refused(number) as caught:
        host.read(path)
    assert caught.value.filename == path
    with refused(number):
        host.write(path, "1")
    with refused(number):
        host.inject(path, errno.EIO)


def test_counters_are_for_the_owner_only(host: FaultyHost) -> None:
    assert host.mode(ENERGY) == 0o400
    assert host.read(ENERGY) == "0\n"
    host.set_privileged(False)
    with refused(errno.EACCES):
        host.read(ENERGY)
    with refused(errno.EACCES):
        host.write(MAX, "1500000")
    assert host.read(MAX) == "2400000\n"


def test_a_mode_without_bits_stops_even_the_owner(host: FaultyHost) -> None:
    host.set_mode(ENERGY, 0)
    with refused(errno.EACCES):
        host.read(ENERGY)
    host.set_mode(MAX, 0o444)
    with refused(errno.EACCES):
        host.write(MAX, "1500000")
    assert host.mode(MAX) == 0o444


def test_a_mode_does_not_give_a_file_a_store(host: FaultyHost) -> None:
    host.set_mode(at("cpuinfo_max_freq"), 0o644)
    with refused(errno.EACCES):
        host.write(at("cpuinfo_max_freq"), "1")


def test_read_only(host: FaultyHost) -> None:
    host.set_read_only(True)
    for path in (MAX, at("cpuinfo_max_freq"), f"{CPU}/cpu1/online"):
        with refused(errno.EROFS):
            host.write(path, "0")
    assert host.read(MAX) == "2400000\n"
    host.set_read_only(False)
    host.write(MAX, "1500000")


@pytest.mark.parametrize("number", [errno.EIO, errno.EPERM, errno.EBUSY, errno.ENODEV])
def test_faults_can_be_put_in_and_taken_out(host: FaultyHost, number: int) -> None:
    host.inject(MAX, number)
    with refused(number):
        host.read(MAX)
    with refused(number):
        host.write(MAX, "1500000")
    assert "policy0" in host.names(CPUFREQ)
    host.inject(MAX, None)
    assert host.read(MAX) == "2400000\n"


def test_a_fault_can_hit_writes_only_or_a_number_of_times(host: FaultyHost) -> None:
    host.inject(MAX, errno.EIO, on="write", times=2)
    for _ in range(2):
        assert host.read(MAX) == "2400000\n"
        with refused(errno.EIO):
            host.write(MAX, "1500000")
    host.write(MAX, "1500000")
    assert host.read(MAX) == "1500000\n"


def test_a_fault_is_there_by_every_path(host: FaultyHost) -> None:
    host.inject(f"{CPU}/cpu0/cpufreq/scaling_max_freq", errno.EIO)
    with refused(errno.EIO):
        host.read(MAX)


def test_a_missing_file_is_not_listed(host: FaultyHost) -> None:
    host.inject(MAX, errno.ENOENT)
    assert "scaling_max_freq" not in host.names(f"{CPUFREQ}/policy0")
    assert host.mode(MAX) is None
    with refused(errno.ENOENT):
        host.write(MAX, "1500000")


def test_a_write_is_ascii_and_no_longer_than_a_page(host: FaultyHost) -> None:
    for text in ("0" * 5_000, "1500000\u00a0"):
        with refused(errno.EINVAL):
            host.write(MAX, text)
    host.write(MAX, "1500000\0junk")
    assert host.read(MAX) == "1500000\n"


def test_a_snapshot_holds_what_a_writer_can_change(host: FaultyHost) -> None:
    snapshot = host.snapshot()
    assert list(snapshot) == sorted(snapshot)
    assert all(host.mode(path) == 0o644 for path in snapshot)
    assert all(host.read(path) == text for path, text in snapshot.items())
    assert MAX in snapshot
    assert not [path for path in snapshot if "/cpu0/cpufreq/" in path or "cur_freq" in path]
    host.add_energy_uj("package-0", 5)
    assert host.snapshot() == snapshot
    host.write(MAX, "1500000")
    assert {path for path, text in host.snapshot().items() if snapshot[path] != text} == {MAX}


def test_a_snapshot_shows_files_that_are_made_to_fail(host: FaultyHost) -> None:
    before = host.snapshot()
    host.inject(MAX, errno.EIO)
    assert host.snapshot() == before


def test_threads_never_see_limits_out_of_order() -> None:
    host = FaultyHost(HostDescription(driver="intel_pstate", cpus=2, packages=2))
    failures: list[str] = []

    def write(policy: int) -> None:
        for step in range(300):
            khz = 1_200_000 + (step * 77_777 + policy * 500_000) % 1_200_000
            host.write(at("scaling_min_freq", policy), str(khz))
            host.write(at("scaling_max_freq", policy), str(3_600_000 - khz))
            host.add_energy_uj(f"package-{policy}", 3)
            if not 1_200_000 <= host.running_khz(policy) <= 2_400_000:
                failures.append(f"policy{policy} at {khz}")

    def look() -> None:
        for _ in range(300):
            snapshot = host.snapshot()
            for policy in range(2):
                low = int(snapshot[at("scaling_min_freq", policy)])
                high = int(snapshot[at("scaling_max_freq", policy)])
                if low > high:
                    failures.append(f"policy{policy}: {low} above {high}")

    threads = [threading.Thread(target=write, args=(policy,)) for policy in range(2)]
    threads += [threading.Thread(target=look) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []
    assert host.read(ENERGY) == "900\n"
