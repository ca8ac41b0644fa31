"""What the doctor says about trees, captures and this machine, as text and as a document."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
import typer

from runtime.cli import doctor as command
from runtime.doctor.examine import Diagnosis, examine_capture, examine_folder
from runtime.doctor.findings import Level
from runtime.doctor.report import FORMAT, report, summary
from tests.runtime.doctor.trees import ACPI, add_package, add_policies, write

CPUFREQ = "/sys/devices/system/cpu/cpufreq"


def call(*arguments: str) -> int:
    """The exit code; a single command needs no name."""
    app = typer.Typer(pretty_exceptions_enable=False)
    command.add_to(app)
    code = app(list(arguments), standalone_mode=False)
    return code if isinstance(code, int) else 0


def said(diagnosis: Diagnosis, level: Level) -> list[str]:
    return [finding.message for finding in diagnosis.findings if finding.level == level]


def test_a_healthy_tree_reads_well(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_policies(tmp_path)
    add_package(tmp_path)
    assert call("--root", str(tmp_path)) == 0
    assert capsys.readouterr().out == (
        f"foresight doctor: the tree below {tmp_path}\n"
        "\n"
        "frequency\n"
        "  ok       policy0-1: driver acpi-cpufreq, 2 CPUs\n"
        "  ok       policy0-1: 1200000 to 2000000 kHz, a table of 3: 1200000 1600000 2000000\n"
        "  ok       policy0-1: turbo on above 2000000 kHz, not told apart by a cap\n"
        '  ok       policy0-1: governor schedutil, actuation = "userspace" possible\n'
        "  ok       policy0-1: limits now 1200000 to 2000000 kHz, the highest\n"
        "  ok       scaling_max_freq of every policy may be written\n"
        "\n"
        "energy\n"
        "  ok       powercap counts package-0\n"
        "  ok       the energy of the host is package-0\n"
        "\n"
        "usable: frequencies can be capped, energy is measured; 0 problems, 0 warnings\n"
    )


def test_an_empty_tree_is_not_usable(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "sys").mkdir()
    assert call("--root", str(tmp_path)) == 1
    lines = capsys.readouterr().out.splitlines()
    assert f"  problem  no frequency policy in {CPUFREQ}: nothing can be capped" in lines
    assert "  warning  no RAPL counter in /sys/class/powercap: energy can only be modelled" in lines
    assert lines[-1] == (
        "not usable: frequencies cannot be capped, energy is modelled; 1 problem, 1 warning"
    )


def test_a_virtual_machine_is_told_about_emulation(tmp_path: Path) -> None:
    write(tmp_path, "/proc/cpuinfo", "processor\t: 0\nflags\t\t: fpu vme hypervisor sse")
    diagnosis = examine_folder(tmp_path)
    problem = next(finding for finding in diagnosis.findings if finding.level == "problem")
    assert problem.fix is not None
    assert problem.fix.startswith("virtual machines seldom show cpufreq")
    assert "emulation.enabled = true" in problem.fix


def test_limits_below_the_hardware_are_warned_about(tmp_path: Path) -> None:
    add_policies(tmp_path)
    write(tmp_path, f"{CPUFREQ}/policy1/scaling_max_freq", "1600000")
    write(tmp_path, f"{CPUFREQ}/policy1/scaling_min_freq", "1600000")
    diagnosis = examine_folder(tmp_path)
    warnings = said(diagnosis, "warning")
    assert "policy1: limited to 1600000 kHz now, 2000000 kHz is possible" in warnings
    assert any(line.startswith("policy1: the lower limit is 1600000 kHz") for line in warnings)
    assert "policy0: limits now 1200000 to 2000000 kHz, the highest" in said(diagnosis, "ok")
    assert diagnosis.usable


def test_a_throttle_is_told_from_a_limit(tmp_path: Path) -> None:
    add_policies(tmp_path, bios_limit="1600000", scaling_max_freq="1600000")
    assert "policy0-1: at most 1600000 kHz now, held down by firmware or heat" in said(
        examine_folder(tmp_path), "warning"
    )


def test_turbo_that_is_off_is_named(tmp_path: Path) -> None:
    add_policies(
        tmp_path,
        scaling_driver="intel_pstate",
        scaling_available_governors="performance powersave",
        scaling_governor="powersave",
        base_frequency="1600000",
        scaling_max_freq="1600000",
    )
    for cpu in range(2):
        for name in ("boost", "scaling_available_frequencies", "freqdomain_cpus"):
            (tmp_path / f"{CPUFREQ}/policy{cpu}/{name}".lstrip("/")).unlink()
    write(tmp_path, "/sys/devices/system/cpu/intel_pstate/no_turbo", "1")
    diagnosis = examine_folder(tmp_path)
    assert "policy0-1: at most 1600000 kHz now, as turbo is off" in said(diagnosis, "warning")
    assert 'policy0-1: governor powersave, actuation = "userspace" not offered, caps are' in said(
        diagnosis, "ok"
    )


def test_inactive_broken_and_strange_policies_are_named(tmp_path: Path) -> None:
    add_policies(tmp_path, count=4, scaling_driver="cppc_cpufreq")
    write(tmp_path, f"{CPUFREQ}/policy1/affected_cpus", "")
    write(tmp_path, f"{CPUFREQ}/policy2/cpuinfo_max_freq", "fast")
    diagnosis = examine_folder(tmp_path)
    assert "policy1: inactive, all CPUs offline" in said(diagnosis, "warning")
    assert "policy0,3: driver cppc_cpufreq, 2 CPUs" in said(diagnosis, "warning")
    assert said(diagnosis, "problem")[0].startswith("policy2 cannot be used: ")
    assert not diagnosis.usable


def test_a_limit_that_cannot_be_read_breaks_its_policy_alone(tmp_path: Path) -> None:
    add_policies(tmp_path)
    write(tmp_path, f"{CPUFREQ}/policy1/scaling_max_freq", "")
    diagnosis = examine_folder(tmp_path)
    assert [broken.name for broken in diagnosis.policies.broken] == ["policy1"]
    assert "policy0: driver acpi-cpufreq, 1 CPU" in said(diagnosis, "ok")


def test_counters_that_root_cannot_read_are_a_problem(tmp_path: Path) -> None:
    add_policies(tmp_path)
    add_package(tmp_path, 0)
    add_package(tmp_path, 1, energy_uj="nothing")
    diagnosis = examine_folder(tmp_path)
    text = report(diagnosis)
    assert "package-1: not readable" in text
    assert "powercap counts package-0\n" in text
    (finding,) = (finding for finding in diagnosis.findings if "package-1:" in finding.message)
    assert finding.fix


@pytest.mark.parametrize(
    ("name", "driver", "policies", "domain", "highest_khz", "table"),
    [
        ("bdwep0", "intel_cpufreq", 88, 1, 3_600_000, None),
        ("clx2s0", "intel_pstate", 96, 1, 3_900_000, None),
        ("dnv0", "acpi-cpufreq", 12, 1, 2_101_000, 15),
        ("genoa0", "acpi-cpufreq", 128, 2, 3_250_000, 3),
    ],
)
def test_captured_machines(
    shared_data: Path,
    name: str,
    driver: str,
    policies: int,
    domain: int,
    highest_khz: int,
    table: int | None,
) -> None:
    file = shared_data / "sysfs" / f"{name}.txt"
    if not file.exists():
        pytest.skip(f"{file} is not there")
    diagnosis = examine_capture(file)
    found = [state.policy for state in diagnosis.policies.states]
    assert len(found) == policies
    assert {policy.driver for policy in found} == {driver}
    assert {len(policy.domain_cpus) for policy in found} == {domain}
    assert {policy.highest_khz for policy in found} == {highest_khz}
    assert {policy.table_khz and len(policy.table_khz) for policy in found} == {table}
    assert f"policy0-{policies - 1}: driver {driver}, {policies} CPUs" in said(diagnosis, "ok")
    shared = any("clocks are shared" in message for message in said(diagnosis, "warning"))
    assert shared == (domain > 1)
    assert summary(diagnosis).startswith("usable: frequencies can be capped, energy is unknown")
    # None of them captured a counter, and none is made up.
    assert diagnosis.counters == ()


def test_a_capture_with_counters(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    lines = [f"rw|{CPUFREQ}/policy0/{name}|{text.format(cpu=0)}" for name, text in ACPI.items()]
    zone = "/sys/class/powercap/intel-rapl:0"
    lines += [f"ro|{zone}/name|package-0", f"ro|{zone}/energy_uj|77"]
    file = tmp_path / "capture.txt"
    file.write_text("\n".join(lines))
    assert call("--capture", str(file)) == 0
    text = capsys.readouterr().out
    assert text.startswith(f"foresight doctor: the capture {file}\n")
    assert "package-0: no max_energy_range_uj" in text
    assert text.splitlines()[-1].startswith(
        "usable: frequencies can be capped, energy is measured; 0 problems"
    )
    assert "may be written" not in text


def test_the_document_is_complete(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    add_policies(tmp_path, count=1)
    add_package(tmp_path)
    assert call("--root", str(tmp_path), "--json") == 0
    document = json.loads(capsys.readouterr().out)
    assert document["format"] == FORMAT
    assert (document["kind"], document["place"], document["usable"]) == (
        "folder",
        str(tmp_path),
        True,
    )
    assert set(document["findings"][0]) == {"area", "level", "message", "fix"}
    (policy,) = document["policies"]
    assert policy["name"] == "policy0"
    assert policy["table_khz"] == [1_200_000, 1_600_000, 2_000_000]
    assert policy["limits"] == {"min_khz": 1_200_000, "max_khz": 2_000_000}
    assert document["counters"] == [
        {"name": "package-0", "in_total": True, "range_uj": 262_143_328_850, "reason": None}
    ]


def test_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    code = call("--json")
    document = json.loads(capsys.readouterr().out)
    assert document["kind"] == "host"
    assert code == (0 if document["usable"] else 1)
    areas = [finding["area"] for finding in document["findings"]]
    assert list(dict.fromkeys(areas)) == [
        "host",
        "frequency",
        "energy",
        "emulation",
        "competitors",
        "software",
    ]
    assert all(finding["fix"] for finding in document["findings"] if finding["level"] != "ok")


def test_nothing_is_changed(tmp_path: Path) -> None:
    add_policies(tmp_path)
    add_package(tmp_path)
    before = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")}
    examine_folder(tmp_path)
    assert {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*")} == before


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["--root", "{folder}", "--capture", "{file}"], "exclude each other"),
        (["--root", "{folder}"], "has no folder sys"),
        (["--root", "/nowhere"], "does not exist"),
        (["--capture", "/nowhere"], "does not exist"),
    ],
)
def test_wrong_usage(tmp_path: Path, arguments: list[str], words: str) -> None:
    file = tmp_path / "file"
    file.write_text("")
    with pytest.raises(typer.BadParameter, match=words):
        call(*(argument.format(folder=tmp_path, file=file) for argument in arguments))


def test_a_capture_that_is_none_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "file"
    file.write_text("[listen]\nport = 1\n")
    with pytest.raises(ValueError, match="line 1: must be"):
        call("--capture", str(file))


def test_commands_import_nothing_heavy_before_they_run() -> None:
    script = """
import sys
import runtime.cli.agent_setup, runtime.cli.doctor
heavy = {"cryptography", "psutil", "rich", "numpy", "runtime.doctor.examine"} & set(sys.modules)
sys.exit(", ".join(heavy) or 0)
"""
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=120, check=False
    )
    assert (done.returncode, done.stderr) == (0, "")
