"""What the hardware does to a mounted host shows in its files."""

import errno
import os
from collections.abc import Iterator

import pytest

from energy.emulation.description import HostDescription
from energy.tree import FolderTree
from tests.energy.emulation.fuse.hosts import MAXIMUM, POLICY, mounted
from tests.support.fuse.handle import EmulationFailed, FuseHost

ENERGY = "/sys/class/powercap/intel-rapl:0/energy_uj"


@pytest.fixture(scope="module")
def shared() -> Iterator[FuseHost]:
    """Every test undoes what it did."""
    with mounted(HostDescription(cpus=2)) as host:
        yield host


@pytest.fixture
def tree(shared: FuseHost) -> FolderTree:
    return FolderTree(shared.root)


def test_an_unplugged_policy_is_busy(shared: FuseHost, tree: FolderTree) -> None:
    path = MAXIMUM.replace("policy0", "policy1")
    shared.unplug(1)
    for action in (lambda: tree.read(path), lambda: tree.write(path, "1200000")):
        with pytest.raises(OSError) as caught:
            action()
        assert caught.value.errno == errno.EBUSY
    assert shared.running_khz(1) == 0
    shared.plug(1)
    assert tree.read(path) == "2400000\n"


def test_a_thermal_cap_and_the_firmware_lower_the_limit(shared: FuseHost, tree: FolderTree) -> None:
    shared.thermal_cap("policy0", 1_500_000)
    assert tree.read(MAXIMUM) == "1500000\n"
    assert shared.running_khz(0) <= 1_500_000
    shared.thermal_cap("policy0", None)
    shared.bios_limit("policy0", 1_800_000)
    assert tree.read(MAXIMUM) == "1800000\n"
    shared.bios_limit("policy0", None)
    assert tree.read(MAXIMUM) == "2400000\n"


def test_energy_is_counted(shared: FuseHost, tree: FolderTree) -> None:
    before_uj = int(tree.read(ENERGY))
    shared.add_energy_uj("package-0", 1_234)
    assert int(tree.read(ENERGY)) == before_uj + 1_234


def test_an_injected_error_reaches_the_caller(shared: FuseHost, tree: FolderTree) -> None:
    shared.inject(MAXIMUM, errno.EIO, "write", 1)
    assert tree.read(MAXIMUM) == "2400000\n"
    with pytest.raises(OSError) as caught:
        tree.write(MAXIMUM, "1200000")
    assert caught.value.errno == errno.EIO
    tree.write(MAXIMUM, "2400000")


def test_a_file_that_vanishes_is_missing_and_comes_back(shared: FuseHost, tree: FolderTree) -> None:
    assert tree.read(MAXIMUM) == "2400000\n"
    shared.inject(MAXIMUM, errno.ENOENT)
    with pytest.raises(FileNotFoundError):
        tree.read(MAXIMUM)
    assert tree.mode(MAXIMUM) is None
    assert "scaling_max_freq" not in tree.names(POLICY)
    shared.inject(MAXIMUM, None)
    assert tree.read(MAXIMUM) == "2400000\n"


def test_modes_count_also_for_root(shared: FuseHost, tree: FolderTree) -> None:
    shared.set_mode(MAXIMUM, 0o444)
    with pytest.raises(PermissionError):
        tree.write(MAXIMUM, "1200000")
    shared.set_mode(MAXIMUM, 0o200)
    with pytest.raises(PermissionError):
        tree.read(MAXIMUM)
    shared.set_mode(MAXIMUM, 0o644)
    assert tree.read(MAXIMUM) == "2400000\n"


def test_a_read_only_tree_refuses_to_open_for_writing(shared: FuseHost, tree: FolderTree) -> None:
    place = str(shared.root) + MAXIMUM
    shared.set_read_only(True)
    for flags in (os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_TRUNC):
        with pytest.raises(OSError) as caught:
            os.open(place, flags)
        assert caught.value.errno == errno.EROFS
    assert not os.access(place, os.W_OK)
    assert tree.read(MAXIMUM) == "2400000\n"
    shared.set_read_only(False)
    assert os.access(place, os.W_OK)
    tree.write(MAXIMUM, "2400000")


def test_usage_counts_what_was_asked(shared: FuseHost, tree: FolderTree) -> None:
    before = shared.usage()
    for _ in range(3):
        tree.read(MAXIMUM)
    after = shared.usage()
    assert after.requests["READ"] == before.requests.get("READ", 0) + 3
    assert after.cpu_s >= before.cpu_s


def test_a_call_that_cannot_be_done_says_why(shared: FuseHost) -> None:
    with pytest.raises(EmulationFailed, match="policy99"):
        shared.thermal_cap("policy99", 1)
    with pytest.raises(EmulationFailed, match="at least 0"):
        shared.add_energy_uj("package-0", -1)
    assert shared.snapshot()[MAXIMUM] == "2400000\n"
