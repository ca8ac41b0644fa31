"""The installed `foresight` command, run as a user runs it: in a process of its own."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "foresight"

# Power of a machine that follows P = 20 + 2e-6 f + 1e-6 n f, in the layout of a measured sweep.
SWEEP = "#Workers\tFrequency\tTime\tWatts\tBandwidth\n" + "".join(
    f"{workers}\t{khz}\t1.0\t{20 + 2e-6 * khz + 1e-6 * workers * khz}\t1.0\n"
    for workers in range(1, 9)
    for khz in range(1_200_000, 2_000_001, 200_000)
)


def foresight(*arguments: str) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        [COMMAND, *arguments], capture_output=True, text=True, timeout=120, check=False
    )


def test_version() -> None:
    done = foresight("--version")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("foresight 0.")


def test_check_accepts_the_shipped_configuration() -> None:
    done = foresight("check", str(Path(__file__).parents[2] / "foresight.toml"))
    assert (done.returncode, done.stderr) == (0, "")
    assert "frequencies     what the hosts have" in done.stdout


def test_check_refuses_with_one_line_and_exit_code_2(tmp_path: Path) -> None:
    path = tmp_path / "foresight.toml"
    path.write_text("[cost]\nalpha = -1")
    done = foresight("check", str(path))
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"{path}: cost.alpha = -1: must be greater than 0\n"


def test_json_on_standard_output_is_alone_there(tmp_path: Path) -> None:
    sweep = tmp_path / "sweep.csv"
    sweep.write_text(SWEEP)
    done = foresight("bench", "power", "--sweep", str(sweep), "--json", "-")
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert set(document) == {"scenario", "backend", "rows"}
    assert {"model", "calibration_points", "mape"} <= set(document["rows"][0])
    assert "calibration_points" in done.stderr  # the table is still there to read


def test_a_closed_pipe_is_no_traceback() -> None:
    read_end, write_end = os.pipe()
    os.close(read_end)
    try:
        done = subprocess.run(
            [COMMAND, "config"], stdout=write_end, stderr=subprocess.PIPE, timeout=60, check=False
        )
    finally:
        os.close(write_end)
    assert (done.returncode, done.stderr) == (1, b"")


@pytest.mark.parametrize("module", ["numpy", "scipy", "statsmodels", "cvxpy", "numba", "rich"])
def test_starting_up_imports_nothing_heavy(module: str) -> None:
    """Start-up time is the time of the imports: a test of seconds would depend on the machine."""
    code = (
        "import sys; from runtime.cli.main import run; code = run(['--version']); "
        f"sys.exit(code or {module!r} in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], check=False, capture_output=True)
    assert done.returncode == 0


def test_importing_the_public_module_costs_nothing() -> None:
    code = "import sys, foresight; sys.exit('msgspec' in sys.modules or 'numpy' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_an_interrupt_is_one_line_and_exit_code_130() -> None:
    code = (
        "import sys, threading; from runtime.cli.main import app, run\n"
        "@app.command()\n"
        "def wait() -> None:\n"
        "    print('ready', flush=True); threading.Event().wait(60)\n"
        "sys.exit(run(['wait']))"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert stderr == "foresight: interrupted\n"
