"""Shell completion as the scripts of bash, zsh and fish ask for it, and what a start costs."""

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

COMMAND = Path(sys.executable).parent / "foresight"
SHELLS = ("bash", "zsh", "fish")
HEAVY = (
    *("numpy", "scipy", "pandas", "pyarrow", "numba", "statsmodels", "cvxpy"),
    *("pyspark", "aiohttp", "cryptography", "prometheus_client", "psutil"),
)


def foresight(environment: Mapping[str, str], *arguments: str) -> str:
    done = subprocess.run(
        [COMMAND, *arguments],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def asked(shell: str, line: str) -> str:
    """What the completion script of a shell gets for a line that is being typed."""
    words = line.split(" ")
    return foresight(
        {
            "_FORESIGHT_COMPLETE": f"complete_{shell}",
            "COMP_WORDS": line,
            "COMP_CWORD": str(len(words) - 1),
            "_TYPER_COMPLETE_ARGS": line,
            "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        }
    )


@pytest.mark.parametrize("shell", SHELLS)
@pytest.mark.parametrize(
    ("line", "completed"),
    [
        ("foresight su", "submit"),
        ("foresight agent st", "status"),
        ("foresight submit --emu", "--emulate"),
    ],
)
def test_commands_and_options_are_completed(shell: str, line: str, completed: str) -> None:
    found = asked(shell, line)
    assert completed in found
    assert "doctor" not in found


@pytest.mark.parametrize("shell", SHELLS)
def test_every_shell_gets_its_script(shell: str) -> None:
    script = foresight({"_FORESIGHT_COMPLETE": f"source_{shell}"})
    assert f"_FORESIGHT_COMPLETE=complete_{shell}" in script


def test_completion_can_be_installed_and_shown() -> None:
    words = foresight({}, "--help")
    assert "--install-completion" in words
    assert "--show-completion" in words


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_bash_completes_with_the_script() -> None:
    code = (
        f'eval "$(_FORESIGHT_COMPLETE=source_bash {COMMAND})"\n'
        "COMP_WORDS=(foresight do) COMP_CWORD=1\n"
        f"_foresight_completion {COMMAND}\n"
        'echo "${COMPREPLY[@]}"\n'
    )
    done = subprocess.run(
        ["bash", "--norc", "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout, done.stderr) == ("doctor\n", "")


def test_help_imports_nothing_heavy() -> None:
    """Start-up time is the time of the imports: a test of seconds would depend on the machine."""
    code = (
        "import sys; from runtime.cli.main import run; code = run(['--help']); "
        f"print([name for name in {HEAVY!r} if name in sys.modules], file=sys.stderr)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.returncode, done.stderr) == (0, "[]\n")
