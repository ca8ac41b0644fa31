"""What the tests with a real mount share."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from energy.emulation.description import HostDescription
from tests.support.fuse.handle import FuseHost, fuse_unavailable

POLICY = "/sys/devices/system/cpu/cpufreq/policy0"
MAXIMUM = f"{POLICY}/scaling_max_freq"


@contextmanager
def mounted(source: HostDescription | Path) -> Iterator[FuseHost]:
    """A FUSE host, or a skipped test with the reason why there is none."""
    reason = fuse_unavailable()
    if reason is not None:
        pytest.skip(f"FUSE cannot be used here: {reason}")
    with FuseHost(source) as host:
        yield host


def mounts() -> str:
    return Path("/proc/self/mounts").read_text()
