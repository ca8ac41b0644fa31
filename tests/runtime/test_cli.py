"""What the commands print and which exit code they return, without a new process."""

import json
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest
import typer

from runtime.cli import main
from runtime.cli.main import run
from runtime.config.documents import default_toml


@pytest.fixture(autouse=True)
def no_traceback(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(main.TRACEBACK_VARIABLE, raising=False)


def test_config_prints_the_commented_defaults(capsys: pytest.CaptureFixture[str]) -> None:
    assert run(["config"]) == 0
    assert capsys.readouterr().out == default_toml()


def test_check_sums_up_what_the_overrides_made(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text("[executors]\nmax = 4")
    overrides = ["--set", "cost.alpha=3", "--set", "limits.power_cap_w=40.5"]
    assert run(["check", str(path), *overrides]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == f"{path}: valid"
    assert "  objective       3 latency + 0.5 power + 0.02 switching, normalised scaling" in lines
    assert "  executors       1 to 4" in lines
    assert "  frequencies     what the hosts have, without turbo" in lines
    assert any(line.startswith("  limits ") and "power_cap_w 40.5" in line for line in lines)


def test_check_refuses_a_latency_model_that_knows_no_batches(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "mine.toml"
    path.write_text('[latency]\nmodel = "kingman"')
    assert run(["check", str(path)]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.startswith(f'{path}: latency.model = "kingman"')
    assert 'use "micro-batch"' in printed.err


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["check"], "foresight: Missing argument 'CONFIG'."),
        (["check", "none.toml"], "none.toml: no such file"),
        (["bench", "--wrong"], "foresight: No such option: --wrong"),
        (["benhc"], "foresight: No such command 'benhc'. Did you mean 'bench'?"),
    ],
)
def test_wrong_usage_is_one_line_and_exit_code_2(
    arguments: list[str], line: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", f"{line}\n")


@pytest.mark.parametrize("arguments", [[], ["bench"]])
def test_a_group_without_a_command_shows_its_help(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(arguments) == 2
    captured = capsys.readouterr()
    assert "Commands" in captured.out
    assert captured.err == ""


def failing_app(error: Exception) -> typer.Typer:
    app = typer.Typer()

    @app.callback()
    def root() -> None:
        raise error

    @app.command()
    def fail() -> None:
        pass

    return app


@pytest.mark.parametrize(
    ("error", "line"),
    [
        (ValueError("rates.csv:3: not a number"), "foresight: rates.csv:3: not a number"),
        (
            OSError(28, "No space left on device", "out.json"),
            "foresight: [Errno 28] No space left on device: 'out.json'",
        ),
        (
            RuntimeError("first\nsecond"),
            "foresight: unexpected RuntimeError: first second (FORESIGHT_TRACEBACK=1 shows where)",
        ),
    ],
)
def test_a_failure_is_one_line_and_exit_code_1(
    error: Exception,
    line: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(main, "app", failing_app(error))
    assert run(["fail"]) == 1
    assert capsys.readouterr().err == f"{line}\n"


def test_a_traceback_is_there_for_who_asks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(main, "app", failing_app(ValueError("deep inside")))
    monkeypatch.setenv(main.TRACEBACK_VARIABLE, "1")
    with pytest.raises(ValueError, match="deep inside"):
        run(["fail"])


def test_a_bench_writes_its_json_where_it_is_told_and_its_table_to_standard_output(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "sweep.csv"
    points = [(n, khz) for n in range(1, 9) for khz in range(1_200_000, 2_000_001, 400_000)]
    sweep.write_text("".join(f"{n} {khz} 1 {20 + 2e-6 * n * khz} 1\n" for n, khz in points))
    target = tmp_path / "new" / "folder" / "power.json"
    assert run(["bench", "power", "--sweep", str(sweep), "--json", str(target)]) == 0
    captured = capsys.readouterr()
    assert captured.out.startswith("power (measured)")
    assert captured.err == ""
    document = json.loads(target.read_text())
    assert (document["scenario"], document["backend"]) == ("power", "measured")
    assert [row["model"] for row in document["rows"]].count("prior") == 1


@dataclass(frozen=True, slots=True)
class TimedSearch:
    executors: int
    ms_p50: float


def test_the_optimizer_bench_shows_the_rows_it_is_given(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """With a stand-in for the measurement: what the command adds is the output."""

    def optimizer_rows(seconds: float, progress: Callable[[str], None]) -> list[TimedSearch]:
        assert seconds == 1.5
        progress("12 x 9")
        return [TimedSearch(12, 0.013)]

    bench = ModuleType("benchmarks.parts.optimizer")
    monkeypatch.setattr(bench, "optimizer_rows", optimizer_rows, raising=False)
    monkeypatch.setitem(sys.modules, bench.__name__, bench)
    assert run(["bench", "optimizer", "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document == {
        "scenario": "optimizer",
        "backend": "measured",
        "rows": [{"executors": 12, "ms_p50": 0.013}],
    }


def test_the_forecast_bench_takes_models_column_and_horizon(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "rates.csv"
    lines = (f"{second},0,{100 + second % 7}" for second in range(60))
    rates.write_text("second,zero,rate\n" + "\n".join(lines))
    options = ["--rate-column", "rate", "--model", "last", "--model", "mean-3", "--horizon", "3"]
    assert run(["bench", "forecast", "--rates", str(rates), *options, "--json", "-"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert (document["scenario"], document["backend"]) == ("forecast", "replay")
    assert [row["model"] for row in document["rows"]] == ["last", "mean-3"]
    assert {"mase", "under_fraction", "coverage_95", "ms_per_step"} <= set(document["rows"][0])


def test_an_unknown_model_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    rates = tmp_path / "rates.csv"
    rates.touch()
    assert run(["bench", "forecast", "--rates", str(rates), "--model", "arima"]) == 2
    assert capsys.readouterr().err == (
        "foresight: Invalid value for '--model': 'arima' is not one of "
        "last, mean-3, ses, holt, holt-winters, mixture.\n"
    )


def test_an_unusable_input_file_is_one_line_and_exit_code_1(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    sweep = tmp_path / "sweep.csv"
    sweep.write_text("1 2 3\n")
    assert run(["bench", "power", "--sweep", str(sweep)]) == 1
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.startswith(f"foresight: {sweep}:1: 3 columns")
    assert len(captured.err.splitlines()) == 1


def test_a_result_file_that_cannot_be_written_is_refused_before_the_work(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").touch()
    for target in (tmp_path, tmp_path / "file" / "x.json"):
        assert run(["bench", "optimizer", "--json", str(target)]) == 2
        assert capsys.readouterr().err.startswith("foresight: Invalid value for '--json': ")
