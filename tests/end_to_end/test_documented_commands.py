"""Every command line that README and docs show is run, or `documented_commands.py` says why not.

They run in this process, in a folder with the files that the documents speak of; commands that
serve or need a shell have a test of their own.
"""

import gzip
import json
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from math import sin
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from runtime.cli.main import run
from runtime.config.documents import default_toml
from runtime.web.auth import Access, read_token
from tests.end_to_end.documented_commands import NAMES, NOT_RUN, RUN, TESTED, Run
from tests.runtime.agent.running_agent import wait_for
from tests.runtime.control.cluster import SHORT, LoopRun
from tests.support.documents import ROOT, WRITTEN, command_lines, foreign_lines, name_of

COMMAND = Path(sys.executable).parent / "foresight"
SHOWN = {line: name_of(page) for page in WRITTEN for line in command_lines(page)}
WALK_S = 4
MARKET_OPEN_MS = 34_200_000


def rates_of(steps: int) -> str:
    return "rate\n" + "\n".join(f"{1000 + 500 * sin(step / 8):.1f}" for step in range(steps))


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a reader has: rates, a sweep, a configuration, the data folder, two journals."""
    folder = tmp_path_factory.mktemp("inputs")
    rates = rates_of(steps=240)
    (folder / "rates.csv").write_text(rates)
    (folder / "long.csv").write_text(rates_of(steps=600))
    (folder / "rates.csv.gz").write_bytes(gzip.compress(rates.encode()))
    points = [
        (workers, khz) for workers in range(1, 9) for khz in (1_200_000, 1_600_000, 2_000_000)
    ]
    (folder / "sweep.csv").write_text(
        "".join(f"{workers} {khz} 1 {20 + 2e-6 * workers * khz} 1\n" for workers, khz in points)
    )
    (folder / "foresight.toml").write_text(default_toml())
    (folder / "values.toml").write_text(shown_values())
    (folder / "examples").symlink_to(ROOT / "examples")
    write_data(folder / "data")
    journals = folder / "foresight-journal"
    LoopRun(journals / "wordcount", SHORT, steps=30).run()
    LoopRun(journals / "my-app", (*SHORT, "horizon.step_s=10"), steps=110).run()
    return folder


def write_data(folder: Path) -> None:
    """The papers' walk and the ticks of two days, both a few seconds long."""
    walk = "".join(f"{second} {300_000 + 20_000 * second}\n" for second in range(WALK_S))
    (folder / "paper").mkdir(parents=True)
    (folder / "paper" / "random_walk_rates.txt").write_text(f"{WALK_S}\n{walk}")
    (folder / "quotes").mkdir()
    for day in ("20131007", "20131008"):
        # One busy second of the plant, and a trickle for the rest of the day.
        ticks = MARKET_OPEN_MS + np.append(
            np.arange(0, 100_000, 50), np.arange(100_000, 23_400_000, 20_000)
        )
        parquet.write_table(
            pa.table({"ts_ms": ticks}), folder / "quotes" / f"us_equity_ticks_{day}.parquet"
        )


def shown_values() -> str:
    """The values of docs/kubernetes.md."""
    text = (ROOT / "docs" / "kubernetes.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```toml\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return str(block)


@pytest.fixture
def folder(inputs: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the inputs to run in."""
    here = tmp_path / "here"
    shutil.copytree(inputs, here, symlinks=True)
    monkeypatch.chdir(here)
    monkeypatch.setenv("FORESIGHT_DATA", str(here / "data"))
    monkeypatch.setenv("COLUMNS", "240")
    return here


def test_every_line_that_is_shown_stands_in_one_list() -> None:
    also = [line for entry in RUN.values() for line in entry.also]
    known = [*RUN, *also, *TESTED, *NOT_RUN, *NAMES]
    assert len(known) == len(set(known))
    assert {line: page for line, page in SHOWN.items() if line not in known} == {}
    assert set(known) - set(SHOWN) == set(), "no document shows these any more"


def test_blocks_of_commands_hold_programs_that_are_looked_for() -> None:
    assert [line for page in WRITTEN for line in foreign_lines(page)] == []


@pytest.mark.parametrize("test", sorted(set(TESTED.values())))
def test_the_tests_that_are_named_exist(test: str) -> None:
    file, _, name = test.partition("::")
    assert f"def {name}" in (ROOT / file).read_text(encoding="utf-8")


@pytest.mark.parametrize("line", [line for line in SHOWN if line.startswith("make ")])
def test_every_target_of_make_exists(line: str) -> None:
    target = line.split()[1]
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), re.MULTILINE)


@pytest.mark.commands
@pytest.mark.parametrize("line", RUN)
def test_it_runs(line: str, folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    entry = RUN[line]
    if "my-app" not in f"{entry} {line}":
        # Nor do the documents name an application where there is one only.
        shutil.rmtree(folder / "foresight-journal" / "my-app")
    printed = "".join(execute(words, entry, folder, capfd) for words in typed(line, entry))
    assert entry.prints in " ".join(printed.split())
    for name in entry.writes:
        check_file(folder / name)


def typed(line: str, entry: Run) -> Iterator[list[str]]:
    """The words of what is run for a line of the documents."""
    for each in entry.lines or (line,):
        assert each.split()[:2] == line.split()[:2]
        words = [entry.words.get(word, word) for word in shlex.split(each)]
        assert not {"FILE", "JOURNAL", "NAME", "[JOURNAL]"} & set(words), "a placeholder is left"
        yield [*words, *shlex.split(entry.options)]


def execute(words: list[str], entry: Run, folder: Path, capfd: pytest.CaptureFixture[str]) -> str:
    target = None
    if ">" in words:
        target = folder / words[words.index(">") + 1]
        del words[words.index(">") : words.index(">") + 2]
    capfd.readouterr()
    code = run(words[1:])
    captured = capfd.readouterr()
    assert code in entry.codes, captured.err
    if target is not None:
        target.write_text(captured.out)
    return captured.out


def check_file(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    match path.suffix:
        case ".json":
            assert json.loads(text)
        case ".toml":
            tomllib.loads(text)
            assert text
        case ".html":
            assert text.rstrip().endswith("</html>")
        case ".svg":
            assert text.startswith("<svg")
        case ".yaml":
            assert "apiVersion:" in text
        case _:
            assert text


@pytest.mark.commands
def test_make_paper(folder: Path) -> None:
    """The line of its recipe, on a walk of a few seconds and with two of the policies."""
    recipe = subprocess.run(
        ["make", "--dry-run", "--directory", str(ROOT), "paper"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    (line,) = (line for line in recipe.splitlines() if "bin/foresight bench" in line)
    words = shlex.split(line)
    assert run([*words[1:], "--policies", "peak,foresight", "--repeat", "1"]) == 0
    written = [words[words.index(option) + 1] for option in ("--report", "--json")]
    for name in written:
        check_file(folder / name)


def test_completion_is_shown() -> None:
    """By the shell it runs in, which is found among the parents of the process."""
    shell = shutil.which("bash")
    if shell is None:
        pytest.skip("needs bash")
    line = f"{COMMAND} --show-completion; exit $?"
    done = subprocess.run([shell, "-c", line], capture_output=True, text=True, check=True)
    assert "_FORESIGHT_COMPLETE=complete_bash" in done.stdout


def test_a_token_is_made(folder: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("needs openssl")
    (line,) = (line for line in SHOWN if line.startswith("openssl"))
    subprocess.run(["sh", "-c", line], cwd=folder, check=True, capture_output=True)
    token = read_token(folder / "web.token")
    assert Access("0.0.0.0", token).is_token(token)


def test_the_agent_that_is_shown_serves(folder: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """In a folder like /tmp, which everybody can write; `status` and `calibrate` reach it."""
    start, _ = (line for line in SHOWN if line.startswith("foresight agent run"))
    (status,) = (line for line in SHOWN if line.startswith("foresight agent status --socket"))
    (calibrate,) = (line for line in SHOWN if line.startswith("foresight calibrate --agent"))
    with tempfile.TemporaryDirectory(prefix="fa-", dir="/tmp") as name:
        Path(name).chmod(0o1777)
        socket = f"{name}/foresight-agent/agent.sock"
        words = shlex.split(start.removesuffix("&").replace("/tmp/", f"{name}/"))
        with subprocess.Popen([COMMAND, *words[1:]], stderr=subprocess.PIPE) as agent:
            try:
                wait_for(lambda: agent.poll() is not None or Path(socket).exists(), "its socket")
                assert agent.poll() is None, agent.communicate()
                assert run(shlex.split(status.replace("/tmp/", f"{name}/"))[1:]) == 0
                assert "emulated" in capfd.readouterr().out
                words = shlex.split(calibrate.replace("/run/foresight/agent.sock", socket))
                short = ("--seconds", "1", "--settle", "1.5", "--points", "5", "--executors", "1")
                assert run([*words[1:], *short]) == 0, capfd.readouterr()
            finally:
                agent.send_signal(signal.SIGTERM)
                agent.communicate()
        assert agent.returncode == 0
    assert "per_executor_ghz_w" in (folder / "power.toml").read_text()
