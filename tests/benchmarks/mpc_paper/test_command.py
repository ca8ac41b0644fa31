"""`foresight bench paper-step` and its sisters through the command line."""

import inspect
import json
from pathlib import Path

import pytest

from benchmarks.mpc_paper import sweep
from benchmarks.mpc_paper.command import compare
from benchmarks.mpc_paper.scenarios import ScenarioRequest
from runtime.cli.main import run
from runtime.config import Config


def test_json_alone_on_standard_output(capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["bench", "paper-step", "--policies", "static-9,foresight", "--repeat", "1"]
    code = run([*arguments, "--processes", "1", "--json", "-"])
    assert code == 0
    document = json.loads(capsys.readouterr().out)
    assert document["scenario"] == "paper-step"
    assert document["backend"] == "simulation"
    assert [row["policy"] for row in document["rows"]] == ["static-9", "foresight"]
    assert all(row["steps"] == 45 for row in document["rows"])


def test_reports_and_pictures_are_written_and_processes_agree(tmp_path: Path) -> None:
    rates = tmp_path / "rates.csv"
    rates.write_text("\n".join(str(100 + 20 * (second % 6)) for second in range(25)))
    common = ["bench", "replay", "--rates", str(rates), "--policies", "lat-power-h2,oracle"]
    common += ["--repeat", "2", "--peak-load", "0.4", "--set", "cost.alpha=2"]
    report, picture = tmp_path / "sub" / "report.html", tmp_path / "picture.svg"
    one, two = tmp_path / "one.json", tmp_path / "two.json"
    wanted = ["--report", str(report), "--picture", str(picture), "--json", str(one)]
    assert run([*common, "--processes", "2", *wanted]) == 0
    assert run([*common, "--processes", "1", "--json", str(two)]) == 0
    assert "lat-power-h2" in report.read_text()
    assert picture.read_text().startswith("<svg")

    def without_times(path: Path) -> list[dict[str, object]]:
        rows = json.loads(path.read_text())["rows"]
        return [
            {name: value for name, value in row.items() if not name.startswith("decision")}
            for row in rows
        ]

    assert without_times(one) == without_times(two)
    assert [row["seed"] for row in without_times(one)] == [1, 2, 1, 2]


def test_a_curve_can_be_asked_for(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sweep, "CURVE_ALPHAS", (0.01, 50.0))
    rates = tmp_path / "rates.csv"
    rates.write_text("\n".join(str(100 + 20 * (second % 6)) for second in range(12)))
    command = ["bench", "replay", "--rates", str(rates), "--policies", "foresight"]
    assert run([*command, "--repeat", "1", "--curve", "1", "--processes", "1"]) == 0


def test_the_options_default_to_what_the_scenarios_do() -> None:
    """The command line repeats them, because importing the benchmarks would slow its start."""
    offered = inspect.signature(compare).parameters
    request = ScenarioRequest("replay")
    for name in ("day", "peak_load", "max_steps", "paper_forecast"):
        default = offered[name].default
        assert getattr(default, "default", default) == getattr(request, name)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["paper-step", "--policies", "lat-nothing"], "unknown policy 'lat-nothing'"),
        (["replay"], "replay needs a rate file: --rates FILE"),
        (["paper-step", "--set", "cost.alpha=-1"], "cost.alpha = -1"),
        (["paper-step", "--paper-forecast", "oracle"], "oracle"),
    ],
)
def test_mistakes_are_told_in_one_line(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(["bench", *arguments, "--processes", "1"]) != 0
    error = capsys.readouterr().err
    assert words in error
    assert error.count("\n") == 1


def test_the_curve_and_the_bound_are_computed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sweep, "CURVE_ALPHAS", (0.01, 4.0))
    rates = tmp_path / "rates.csv"
    rates.write_text("\n".join(str(100 + 40 * (second % 6)) for second in range(12)))
    request = sweep.ComparisonRequest(
        ScenarioRequest("replay", rates_file=rates, peak_load=0.4),
        policies=("foresight",),
        repeat=1,
        seed=1,
        config=Config(),
        curve_repeat=1,
    )
    comparison = sweep.compare(request, processes=1)
    saving, keeping = comparison.curve
    assert (saving.alpha, keeping.alpha) == (0.01, 4.0)
    assert saving.mean_power_w < keeping.mean_power_w
    assert comparison.limit[-1].mean_power_w <= keeping.mean_power_w
