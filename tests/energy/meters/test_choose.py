import subprocess
import sys
from pathlib import Path

import pytest

from energy.errors import MeterUnavailable
from energy.meters.choose import MeterChoice, choose_meter
from energy.tree import FolderTree
from tests.energy.meters.rapl_tree import RaplTree


def test_auto_takes_the_counters_of_the_kernel(tmp_path: Path) -> None:
    rapl = RaplTree(tmp_path)
    rapl.add("intel-rapl:0", "package-0")
    choice = choose_meter("auto", rapl.tree)
    assert choice.meter is not None
    assert (choice.meter.name, choice.meter.source, choice.reason) == ("powercap", "measured", None)


def test_auto_takes_them_when_one_package_can_be_read(tmp_path: Path) -> None:
    rapl = RaplTree(tmp_path)
    rapl.add("intel-rapl:0", "package-0")
    rapl.add("intel-rapl:1", "package-1")
    rapl.hide("intel-rapl:0")
    meter = choose_meter("auto", rapl.tree).meter
    assert meter is not None
    assert meter.name == "powercap"


def test_auto_models_what_cannot_be_read_and_says_why(tmp_path: Path) -> None:
    rapl = RaplTree(tmp_path)
    rapl.add("intel-rapl:0", "package-0")
    rapl.hide("intel-rapl:0")
    choice = choose_meter("auto", rapl.tree)
    assert choice.meter is not None
    assert (choice.meter.name, choice.meter.source) == ("modelled", "modelled")
    reasons = (choice.reason or "").split("; ")
    assert [reason.partition(":")[0] for reason in reasons] == ["powercap", "pyrapl"]
    assert all("energy_uj" in reason for reason in reasons)


def test_auto_models_a_host_without_counters(tmp_path: Path) -> None:
    choice = choose_meter("auto", FolderTree(tmp_path))
    assert choice.meter is not None
    assert choice.meter.name == "modelled"
    assert "no RAPL zone" in (choice.reason or "")


@pytest.mark.parametrize("name", ["powercap", "pyrapl"])
def test_a_named_meter_without_counters_is_refused_with_words(
    tmp_path: Path, name: MeterChoice
) -> None:
    with pytest.raises(MeterUnavailable, match=r"\w+ \w+ \w+"):
        choose_meter(name, FolderTree(tmp_path))


@pytest.mark.parametrize("name", ["powercap", "pyrapl"])
def test_a_named_meter_reports_why_it_cannot_read(tmp_path: Path, name: MeterChoice) -> None:
    rapl = RaplTree(tmp_path)
    rapl.add("intel-rapl:0", "package-0")
    rapl.hide("intel-rapl:0")
    meter = choose_meter(name, rapl.tree, source="emulated").meter
    assert meter is not None
    assert (meter.name, meter.source) == (name, "emulated")
    reading = meter.poll(0.0)
    assert reading.total_uj is None
    assert reading.zones[0].reason


def test_modelled_and_none_by_name(tmp_path: Path) -> None:
    rapl = RaplTree(tmp_path)
    rapl.add("intel-rapl:0", "package-0")
    meter = choose_meter("modelled", rapl.tree, full_power_w=50.0).meter
    assert meter is not None
    assert meter.name == "modelled"
    assert choose_meter("none", rapl.tree).meter is None


def test_counters_are_read_without_the_packages_of_the_models(tmp_path: Path) -> None:
    rapl = RaplTree(tmp_path)
    rapl.add("intel-rapl:0", "package-0")
    program = (
        "import sys; from energy.meters.choose import choose_meter; from energy.tree import "
        "FolderTree; choose_meter('auto', FolderTree(sys.argv[1])).meter.poll(0.0); "
        "assert not {'numpy', 'scipy', 'pandas', 'pyRAPL'} & set(sys.modules), sys.modules.keys()"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
        cwd=Path(__file__).parents[3],
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
