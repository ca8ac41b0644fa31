"""Busy time and clock of a whole host, from files like the kernel's."""

import os
from pathlib import Path

from energy.host_load import LoadReader
from energy.tree import FolderTree

MS_PER_TICK = 1000 / os.sysconf("SC_CLK_TCK")


def write(root: Path, path: str, text: str) -> None:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def stat(root: Path, *busy_ticks: int) -> None:
    """Half of it in user, half in system time, beside idle, iowait and guests that count twice."""
    lines = [
        f"cpu{cpu} {ticks // 2} 0 {ticks - ticks // 2} 999 77 0 0 0 {ticks // 2} 0"
        for cpu, ticks in enumerate(busy_ticks)
    ]
    write(root, "proc/stat", "\n".join(["cpu  1 2 3 4", *lines, "intr 1 2 3", "ctxt 5", ""]))


def clock(root: Path, cpu: int, khz: int, name: str = "scaling_cur_freq") -> None:
    write(root, f"sys/devices/system/cpu/cpu{cpu}/cpufreq/{name}", f"{khz}\n")


def test_everything_that_ran_is_counted(tmp_path: Path) -> None:
    reader = LoadReader(FolderTree(tmp_path))
    assert reader.read() is None
    stat(tmp_path, 100, 300)
    first = reader.read()
    stat(tmp_path, 150, 400)
    second = reader.read()
    assert first is not None
    assert second is not None
    assert first.busy_ms == round(400 * MS_PER_TICK)
    assert second.busy_ms - first.busy_ms == round(150 * MS_PER_TICK)
    assert second.clock_khz is None


def test_the_clock_is_that_of_the_busy_cores(tmp_path: Path) -> None:
    reader = LoadReader(FolderTree(tmp_path))
    clock(tmp_path, 0, 3_000_000)
    clock(tmp_path, 1, 800_000)
    stat(tmp_path, 0, 0)
    reader.read()
    stat(tmp_path, 100, 0)
    assert (load := reader.read()) is not None
    assert load.clock_khz == 3_000_000
    stat(tmp_path, 200, 300)
    assert (load := reader.read()) is not None
    assert load.clock_khz == 1_350_000
    assert (load := reader.read()) is not None
    assert load.clock_khz == 1_350_000  # nothing ran: the last one stands


def test_a_mean_of_the_kernel_is_preferred(tmp_path: Path) -> None:
    reader = LoadReader(FolderTree(tmp_path))
    clock(tmp_path, 0, 3_000_000)
    clock(tmp_path, 0, 2_000_000, "cpuinfo_avg_freq")
    stat(tmp_path, 0)
    reader.read()
    stat(tmp_path, 10)
    assert (load := reader.read()) is not None
    assert load.clock_khz == 2_000_000


def test_garbled_files_are_no_readings(tmp_path: Path) -> None:
    reader = LoadReader(FolderTree(tmp_path))
    write(tmp_path, "proc/stat", "cpu0 1 2\ncpu1\ncpux 1 2 3 4 5 6\n\n")
    assert reader.read() is None
