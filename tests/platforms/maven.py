"""Jars of the tests by Maven, into a folder that is kept between runs."""

import hashlib
import shutil
import subprocess
from pathlib import Path

import pytest

KEPT = Path.home() / ".cache" / "foresight-tests" / "jars"
_TIMEOUT_S = 600.0


def jars(pom: Path) -> Path:
    """The folder with everything the pom names and what that needs. Skips the test where Maven, or
    whatever it gets its packages from, is out of reach."""
    maven = shutil.which("mvn")
    if maven is None:
        pytest.skip("these tests need Maven (mvn)")
    folder = KEPT / hashlib.sha256(pom.read_bytes()).hexdigest()[:16]
    if (folder / ".whole").exists():
        return folder
    command = [
        *(maven, "-q", "-B", "-f", str(pom), "dependency:copy-dependencies"),
        *("-DincludeScope=runtime", f"-DoutputDirectory={folder}"),
    ]
    done = subprocess.run(command, capture_output=True, text=True, timeout=_TIMEOUT_S, check=False)
    if done.returncode != 0:
        pytest.skip(f"Maven found no packages: {(done.stdout + done.stderr).strip()[:300]}")
    (folder / ".whole").touch()
    return folder
