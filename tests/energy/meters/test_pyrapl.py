import logging
import subprocess
import sys
from pathlib import Path

import pytest

from energy.errors import MeterUnavailable
from energy.meters.pyrapl import PyraplMeter
from energy.tree import Tree
from tests.energy.meters.rapl_tree import RaplTree


@pytest.fixture
def rapl(tmp_path: Path) -> RaplTree:
    return RaplTree(tmp_path)


def test_reads_packages_and_dram_and_nothing_else(rapl: RaplTree) -> None:
    for number in range(12):
        rapl.add(f"intel-rapl:{number:x}", f"package-{number // 2}-die-{number % 2}")
        rapl.add(f"intel-rapl:{number:x}:0", "core")
    rapl.add("intel-rapl:b:1", "dram")
    rapl.add("intel-rapl:c", "psys")
    meter = PyraplMeter(rapl.tree)
    meter.poll(0.0)
    for folder in ("intel-rapl:b", "intel-rapl:b:0", "intel-rapl:b:1", "intel-rapl:c"):
        rapl.spend(folder, 7)
    reading = meter.poll(1.0)
    assert len(reading.zones) == 13
    assert reading.total_uj == 14


def test_one_bad_socket_does_not_hide_the_other(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:1", "package-1")
    meter = PyraplMeter(rapl.tree)
    rapl.remove("intel-rapl:0")
    first, second = meter.poll(0.0).zones
    assert first.energy_uj is None
    assert "no such file" in str(first.reason)
    assert second.energy_uj == 0
    assert meter.reasons_against() == ()


@pytest.mark.parametrize("text", ["", "\n", "12 34\n", "-5\n", "nan\n", "inf\n", "1.5\n"])
def test_garbage_is_none_with_words(rapl: RaplTree, text: str) -> None:
    rapl.add("intel-rapl:0", "package-0")
    rapl.put("intel-rapl:0", "energy_uj", text)
    (zone,) = PyraplMeter(rapl.tree).poll(0.0).zones
    assert zone.energy_uj is None
    assert "pyRAPL" in str(zone.reason)


def test_a_host_without_packages_is_refused_with_words(rapl: RaplTree) -> None:
    rapl.add("intel-rapl:0", "psys")
    with pytest.raises(MeterUnavailable, match="packages and dram"):
        PyraplMeter(rapl.tree)


def test_a_host_in_memory_is_refused_with_words() -> None:
    class InMemory:
        def read(self, path: str) -> str:
            raise FileNotFoundError(path)

        def write(self, path: str, text: str) -> None:
            raise FileNotFoundError(path)

        def names(self, path: str) -> tuple[str, ...]:
            return ()

        def mode(self, path: str) -> int | None:
            return None

    tree: Tree = InMemory()
    with pytest.raises(MeterUnavailable, match="in memory"):
        PyraplMeter(tree)


_IMPORT = """
import logging, sys, warnings
from energy.meters.pyrapl import PyraplMeter
from energy.tree import FolderTree
assert "pyRAPL" not in sys.modules
said = []
class Said(logging.Handler):
    def emit(self, record):
        said.append(record.getMessage())
ours = logging.getLogger("energy.meters.pyrapl")
ours.addHandler(Said())
ours.setLevel(logging.INFO)
PyraplMeter(FolderTree(sys.argv[1])).poll(0.0)
assert "pyRAPL" in sys.modules
assert not {"numpy", "pandas", "pymongo"} & set(sys.modules), "too much memory for an agent"
assert logging.getLogger().handlers == [], "the root logger was set up"
assert any("pymongo" in words for words in said), said
"""


def test_importing_it_costs_little_and_leaves_the_process_alone(
    rapl: RaplTree, tmp_path: Path
) -> None:
    rapl.add("intel-rapl:0", "package-0")
    # Compiled afresh, so that its invalid escapes warn whether or not they were cached.
    command = [sys.executable, "-W", "error", "-X", f"pycache_prefix={tmp_path}", "-c", _IMPORT]
    done = subprocess.run(
        [*command, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


def test_a_second_import_is_silent(rapl: RaplTree, caplog: pytest.LogCaptureFixture) -> None:
    rapl.add("intel-rapl:0", "package-0")
    PyraplMeter(rapl.tree)
    caplog.clear()
    with caplog.at_level(logging.DEBUG):
        PyraplMeter(rapl.tree)
    assert caplog.records == []
