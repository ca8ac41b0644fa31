"""Through real system calls, a mounted host is what the same host is in this process."""

import errno
import os
import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.description import HostDescription
from energy.emulation.drivers import Driver
from energy.tree import FolderTree, Tree
from tests.energy.emulation.fuse.hosts import MAXIMUM, POLICY, mounted
from tests.support.capture import host_from_capture
from tests.support.faulty_host import FaultyHost
from tests.support.fuse.handle import FuseHost

DESCRIPTION = HostDescription(cpus=4, cpus_per_policy=2)
CURRENT = "scaling_cur_freq"


def paths(tree: Tree, folder: str = "/sys") -> Iterator[str]:
    for name in tree.names(folder):
        path = f"{folder}/{name}"
        yield path
        yield from paths(tree, path)


def below(host: FuseHost, path: str) -> Path:
    return Path(f"{host.root}{path}")


def outcome(action: Callable[..., object], *arguments: str) -> object:
    """What it gave, or the name of the error it raised."""
    try:
        return action(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno or 0]


def agree(mounted: Tree, model: Tree) -> None:
    known = list(paths(model))
    assert list(paths(mounted)) == known
    for path in known:
        assert mounted.mode(path) == model.mode(path), path
        if not model.names(path):
            assert outcome(mounted.read, path) == outcome(model.read, path), path


@pytest.fixture(scope="module")
def shared() -> Iterator[FuseHost]:
    """One host for the tests that leave it as they found it."""
    with mounted(DESCRIPTION) as host:
        yield host


@pytest.fixture(scope="module")
def twins() -> Iterator[tuple[FuseHost, FaultyHost]]:
    """The same host mounted and in this process, changed only together."""
    with mounted(DESCRIPTION) as host:
        yield host, FaultyHost(DESCRIPTION)


@pytest.mark.parametrize("driver", get_args(Driver))
def test_every_driver_reads_as_in_process(driver: Driver) -> None:
    description = HostDescription(driver, cpus=2)
    with mounted(description) as host:
        agree(FolderTree(host.root), FaultyHost(description))


@pytest.mark.parametrize("machine", ["bdwep0", "clx2s0", "dnv0", "genoa0"])
def test_a_captured_machine_reads_as_in_process(shared_data: Path, machine: str) -> None:
    capture = shared_data / "sysfs" / f"{machine}.txt"
    model = host_from_capture(capture.read_text())
    with mounted(capture) as host:
        tree = FolderTree(host.root)
        assert tree.names("/sys/devices/system/cpu/cpufreq") == model.names(
            "/sys/devices/system/cpu/cpufreq"
        )
        for name in model.names(POLICY):
            path = f"{POLICY}/{name}"
            assert outcome(tree.read, path) == outcome(model.read, path)


@given(
    st.sampled_from(
        ["scaling_max_freq", "scaling_min_freq", "scaling_governor", "scaling_setspeed"]
    ),
    st.one_of(
        st.integers(0, 3_000_000).map(str),
        st.sampled_from(["performance", "powersave\n", "userspace", "", "1200000 \n", "0x124f80"]),
        st.text(st.characters(codec="ascii"), max_size=20),
    ),
)
def test_any_write_ends_as_in_process(
    twins: tuple[FuseHost, FaultyHost], attribute: str, text: str
) -> None:
    host, model = twins
    path = f"{POLICY}/{attribute}"
    tree = FolderTree(host.root)
    assert outcome(tree.write, path, text) == outcome(model.write, path, text)
    assert tree.read(path) == model.read(path)
    assert host.snapshot() == model.snapshot()


def test_truncating_changes_nothing(shared: FuseHost) -> None:
    place = below(shared, MAXIMUM)
    before = FolderTree(shared.root).read(MAXIMUM)
    os.close(os.open(place, os.O_WRONLY | os.O_TRUNC))
    os.truncate(place, 0)
    descriptor = os.open(place, os.O_RDWR)
    os.ftruncate(descriptor, 7)
    os.close(descriptor)
    assert FolderTree(shared.root).read(MAXIMUM) == before
    assert place.stat().st_size == 4096


def test_a_shell_writes_as_to_sysfs(shared: FuseHost) -> None:
    file = f"{shared.inside_root}{MAXIMUM}"
    command = f"echo 1500000 > {file} && cat {file} && echo 2400000 > {file}"
    run = subprocess.run(
        shared.command(["sh", "-c", command]), capture_output=True, text=True, check=True
    )
    assert run.stdout == "1500000\n"


def test_a_descriptor_reads_anew_from_the_start_and_the_old_value_behind_it(
    shared: FuseHost,
) -> None:
    tree = FolderTree(shared.root)
    descriptor = os.open(below(shared, MAXIMUM), os.O_RDONLY)
    try:
        assert os.read(descriptor, 3) == b"240"
        tree.write(MAXIMUM, "1300000")
        assert os.read(descriptor, 100) == b"0000\n"
        assert os.read(descriptor, 100) == b""
        assert os.pread(descriptor, 100, 0) == b"1300000\n"
    finally:
        os.close(descriptor)
        tree.write(MAXIMUM, "2400000")


@pytest.mark.parametrize(
    ("action", "number"),
    [
        (lambda at: os.open(at / CURRENT, os.O_WRONLY), errno.EACCES),
        (lambda at: os.open(at / CURRENT, os.O_RDWR), errno.EACCES),
        (lambda at: os.open(at / "new", os.O_WRONLY | os.O_CREAT), errno.EACCES),
        (lambda at: os.open(at / "new", os.O_RDONLY), errno.ENOENT),
        (lambda at: os.open(at, os.O_WRONLY), errno.EISDIR),
        (lambda at: (at / "new").mkdir(), errno.EPERM),
        (lambda at: (at / CURRENT).unlink(), errno.EPERM),
        (lambda at: (at / CURRENT).rename(at / "new"), errno.EPERM),
        (lambda at: (at / "new").symlink_to("x"), errno.EPERM),
        (lambda at: (at / CURRENT).chmod(0o600), errno.EPERM),
        (lambda at: os.getxattr(at / CURRENT, "user.x"), errno.EOPNOTSUPP),
        (lambda at: list((at / CURRENT).iterdir()), errno.ENOTDIR),
        (lambda at: (at / "scaling_max_freq").write_bytes(b"\xff"), errno.EINVAL),
    ],
)
def test_what_sysfs_refuses(
    shared: FuseHost, action: Callable[[Path], object], number: int
) -> None:
    with pytest.raises(OSError) as caught:
        action(below(shared, POLICY))
    assert caught.value.errno == number


def test_a_file_looks_like_one_of_sysfs(shared: FuseHost) -> None:
    found = below(shared, MAXIMUM).stat()
    assert stat.filemode(found.st_mode) == "-rw-r--r--"
    assert (found.st_uid, found.st_gid, found.st_size) == (0, 0, 4096)
    folder = below(shared, POLICY).stat()
    assert stat.filemode(folder.st_mode) == "drwxr-xr-x"
    assert [entry.name for entry in shared.root.iterdir()] == ["sys"]


def test_a_file_for_root_only_is_closed_to_others(shared: FuseHost) -> None:
    energy = "/sys/class/powercap/intel-rapl:0/energy_uj"
    assert FolderTree(shared.root).mode(energy) == 0o400
    program = (
        "import os, sys\n"
        "os.setgroups([]); os.setgid(65534); os.setuid(65534)\n"
        "for path, flags in ((sys.argv[1], os.O_RDONLY), (sys.argv[2], os.O_WRONLY)):\n"
        "    try: os.open(path, flags)\n"
        "    except PermissionError: print('denied', os.access(path, os.R_OK))\n"
        "print(os.read(os.open(sys.argv[2], os.O_RDONLY), 100))\n"
    )
    places = [f"{shared.inside_root}{path}" for path in (energy, MAXIMUM)]
    run = subprocess.run(
        shared.command([sys.executable, "-I", "-S", "-c", program, *places]),
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout.splitlines() == ["denied False", "denied True", r"b'2400000\n'"]


def test_many_readers_and_a_writer_see_whole_values(shared: FuseHost) -> None:
    tree = FolderTree(shared.root)
    values = [f"{khz}\n" for khz in range(1_200_000, 2_400_001, 100_000)]

    def read(_: int) -> set[str]:
        return {tree.read(MAXIMUM) for _ in range(50)}

    with ThreadPoolExecutor(8) as pool:
        readers = [pool.submit(read, number) for number in range(7)]
        for value in values * 5:
            tree.write(MAXIMUM, value)
        seen = set().union(*(reader.result() for reader in readers))
    assert seen <= set(values)
    assert tree.read(MAXIMUM) == "2400000\n"
