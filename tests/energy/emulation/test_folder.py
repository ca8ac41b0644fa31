"""A copied host is discovered like the host it was copied from."""

from pathlib import Path

from energy.cpufreq.discover import discover
from energy.emulation.description import HostDescription
from energy.emulation.folder import write_files
from energy.tree import FolderTree
from tests.support.faulty_host import FaultyHost


def test_a_copied_host_is_discovered_as_it_was(tmp_path: Path) -> None:
    host = FaultyHost(HostDescription(driver="intel_cpufreq", cpus=4, packages=2))
    write_files(host, tmp_path)
    assert discover(FolderTree(tmp_path)) == discover(host)
    for path, text in host.snapshot().items():
        assert (tmp_path / path[1:]).read_text() == text
