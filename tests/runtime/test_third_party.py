"""Policies and forecasters of other distributions: the example of the docs, and broken ones."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from forecasting.third_party import discover
from mpc.policies.catalogue import GROUP, PolicyEntry, check_third_party
from mpc.policies.contract import CHECKS

PAGE = Path(__file__).parents[2] / "docs" / "extending.md"
RATES = "\n".join(str(1000 + 800 * (step % 7)) for step in range(40))


def blocks(language: str) -> list[str]:
    text = PAGE.read_text(encoding="utf-8")
    return re.findall(rf"^```{language}\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    """In an environment that has what is installed in `site` besides what this one has."""
    return subprocess.run(
        [sys.executable, "-P", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(site)},
        capture_output=True,
        text=True,
        check=False,
    )


def foresight(site: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    code = "import sys; from runtime.cli.main import run; sys.exit(run(sys.argv[1:]))"
    return run(site, folder, "-c", code, *arguments)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The example of the page, built and installed."""
    source, site = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("site")
    policy, _, _ = blocks("python")
    project, _ = blocks("text")
    (source / "square_root.py").write_text(policy)
    (source / "pyproject.toml").write_text(project)
    pip = ["pip", "install", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    done = run(site, source, "-m", *pip, "--disable-pip-version-check", "--target", str(site), ".")
    assert done.returncode == 0, done.stderr
    return site


def test_the_example_keeps_the_contract(site: Path, tmp_path: Path) -> None:
    _, suite, _ = blocks("python")
    (tmp_path / "test_square_root.py").write_text(suite)
    done = run(site, tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider")
    assert done.returncode == 0, done.stdout
    assert f"{len(CHECKS)} passed" in done.stdout


def test_the_example_is_configured_and_compared(site: Path, tmp_path: Path) -> None:
    _, configuration = blocks("text")
    (tmp_path / "foresight.toml").write_text(configuration)
    done = foresight(site, tmp_path, "check", "foresight.toml")
    assert done.returncode == 0, done.stderr
    assert "square-root" in done.stdout
    (tmp_path / "rates.csv").write_text(RATES)
    command = ("bench", "peers", "--rates", "rates.csv", "--policies", "square-root")
    short = ("--processes", "1", "--json", "-", "--config", "foresight.toml")
    done = foresight(site, tmp_path, *command, *short)
    assert done.returncode == 0, done.stderr
    (row,) = json.loads(done.stdout)["rows"]
    assert (row["policy"], row["steps"]) == ("square-root", 40)
    wrong = foresight(
        site, tmp_path, "check", "foresight.toml", "--set", "policies.square-root.reserve=11"
    )
    assert wrong.returncode == 2
    assert "policies.square-root.reserve = 11: must be between 0 and 10" in wrong.stderr


def test_the_example_runs_live(site: Path, tmp_path: Path) -> None:
    code = (
        "from runtime.build import live_policy, live_power, simulated_space\n"
        "from runtime.config import load_config\n"
        "config = load_config(None, ['policy=square-root'])\n"
        "space = simulated_space(config)\n"
        "print(type(live_policy(config, space, live_power(config, space), 2.0)).__name__)\n"
    )
    done = run(site, tmp_path, "-c", code)
    assert done.stdout == "SquareRootPolicy\n", done.stderr


def distribution(site: Path, name: str, entry_points: str, **modules: str) -> None:
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)
    folder = site / f"{name}-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(entry_points)


def test_a_broken_distribution_is_named_and_breaks_nothing_else(tmp_path: Path) -> None:
    distribution(
        tmp_path,
        "crooked",
        "[foresight.policies]\nbent = crooked_policy:ENTRY\n"
        "[foresight.forecasters]\nblind = crooked_policy:MODEL\n",
        crooked_policy="raise RuntimeError('out of order')\n",
    )
    (tmp_path / "foresight.toml").write_text('policy = "hpa"\n')
    done = foresight(tmp_path, tmp_path, "check", "foresight.toml")
    assert done.returncode == 0
    reason = "crooked 1.0: RuntimeError: out of order"
    assert done.stderr.splitlines() == [
        f"warning: bent cannot be loaded: {reason}",
        f"warning: blind cannot be loaded: {reason}",
    ]
    for override, what in (("policy=bent", "policy"), ("forecast.model=blind", "forecaster")):
        wrong = foresight(tmp_path, tmp_path, "check", "foresight.toml", "--set", override)
        assert wrong.returncode == 2
        name = override.partition("=")[2]
        assert f"{what} '{name}' cannot be loaded: {reason}" in wrong.stderr


OPTIONS = "mpc.policies.fixed.options:PeakOptions"


@pytest.mark.parametrize(
    ("name", "entry", "words"),
    [
        ("mine", "1", "is no PolicyEntry"),
        ("mine", "PolicyEntry('yours', '', '')", "calls itself 'yours'"),
        ("hpa", f"PolicyEntry('hpa', '{OPTIONS}', '')", "has a policy of this name itself"),
        ("static-7", f"PolicyEntry('static-7', '{OPTIONS}', '')", "has a policy of this name"),
        ("Mine", f"PolicyEntry('Mine', '{OPTIONS}', '')", "lower-case letters"),
        ("mine", "PolicyEntry('mine', 'odd_policy:Bare', '')", "option factor has no description"),
        ("mine", "PolicyEntry('mine', 'odd_policy:Count', '')", "no msgspec.Struct"),
        ("mine", "PolicyEntry('mine', 'odd_policy:Nothing', '')", "Nothing"),
    ],
)
def test_an_entry_that_cannot_be_used_is_set_aside(
    name: str, entry: str, words: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (
        "from msgspec import Struct\n"
        "from mpc.policies.catalogue import PolicyEntry\n"
        "class Bare(Struct):\n    factor: float = 1.0\n"
        "class Count(int): pass\n"
        f"ENTRY = {entry}\n"
    )
    distribution(tmp_path, "odd", f"[{GROUP}]\n{name} = odd_policy:ENTRY\n", odd_policy=text)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "odd_policy", raising=False)
    found = discover(GROUP, PolicyEntry, check_third_party)
    monkeypatch.delitem(sys.modules, "odd_policy", raising=False)
    assert found.usable == ()
    (broken,) = found.broken
    assert broken.name == name
    assert broken.reason.startswith("odd 1.0: ")
    assert words in broken.reason
