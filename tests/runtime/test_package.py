"""The wheel holds every module and every data file of the tree, whoever builds it.

Built with the tool of this environment, without a network, in a copy: the build leaves folders
behind where it works. Installing it is the work of `scripts/package.sh`.
"""

import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("forecasting", "energy", "mpc", "runtime", "benchmarks")
FILES = ("pyproject.toml", "README.md", "foresight.py")
_LEFT_OUT = ("__pycache__", "*.egg-info", ".*")


@pytest.fixture(scope="module")
def tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tree")
    for name in PACKAGES:
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns(*_LEFT_OUT))
    for name in FILES:
        shutil.copy(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def expected(tree: Path) -> set[str]:
    """Before anything was built in it."""
    files = {
        str(path.relative_to(tree))
        for package in PACKAGES
        for path in (tree / package).rglob("*")
        if path.is_file()
    }
    assert len(files) > 200
    return {*files, "foresight.py"}


@pytest.fixture(scope="module")
def sdist(tree: Path, expected: set[str], tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("build_sdist", tree, tmp_path_factory.mktemp("sdist"))


def test_the_sdist_holds_every_file(sdist: Path, expected: set[str]) -> None:
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert not expected - names


def test_the_wheel_of_the_sdist_holds_every_file_and_nothing_else(
    sdist: Path, expected: set[str], tmp_path: Path
) -> None:
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, filter="data")
    (unpacked,) = (path for path in tmp_path.iterdir() if path.is_dir())
    wheel = built("build_wheel", unpacked, tmp_path)
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
        (entry_points,) = (name for name in archive.namelist() if name.endswith("entry_points.txt"))
        assert "foresight = runtime.cli.main:run" in archive.read(entry_points).decode()
    assert names == expected


def built(hook: str, folder: Path, into: Path) -> Path:
    """What the build backend of pyproject.toml makes, called as every installer calls it."""
    code = f"import sys, setuptools.build_meta as build; build.{hook}(sys.argv[1])"
    done = subprocess.run(
        [sys.executable, "-c", code, str(into)],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-2000:]
    (made,) = (path for path in into.iterdir() if path.suffix in (".whl", ".gz"))
    return made
