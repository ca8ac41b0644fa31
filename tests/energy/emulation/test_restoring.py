"""Whatever is written to whichever file, writing the originals back restores every one of them."""

import contextlib

from hypothesis import given
from hypothesis import strategies as st

from energy.emulation.drivers import DRIVERS, Driver
from tests.energy.emulation.hosts import host_of
from tests.support.faulty_host import FaultyHost

TEXTS = st.one_of(
    st.sampled_from(
        ["0", "1", "2", "50", "0x1e8480", "99999999999999999999", "", "junk", "\0", "-1"]
    ),
    st.sampled_from(["performance", "powersave", "userspace", "schedutil", "power", "default"]),
    st.integers(0, 5_000_000).map(str),
    st.text(max_size=12),
)


def try_to_write(host: FaultyHost, path: str, text: str) -> None:
    with contextlib.suppress(OSError):
        host.write(path, text)


@given(st.sampled_from(DRIVERS), st.data())
def test_originals_written_back_restore_every_file(driver: Driver, data: st.DataObject) -> None:
    host = host_of(driver, cpus=3)
    before = host.snapshot()
    paths = st.sampled_from(list(before))
    for path, text in data.draw(st.lists(st.tuples(paths, TEXTS), max_size=12)):
        try_to_write(host, path, text)
    # Twice: a governor or another bound can refuse a value the first time.
    for path, text in [*before.items(), *before.items()]:
        try_to_write(host, path, text)
    assert host.snapshot() == before
    assert [host.running_khz(cpu) for cpu in range(3)] == [3_600_000] * 3
