"""`foresight bench paper-random-walk | paper-step | equity-day | replay`: policies side by side.

All four commands are one function; each offers the options that make sense for its scenario.
"""

import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from benchmarks.parameters import DataFolder, FirstSeed, MaxSteps, PeakLoad, Repeat
from runtime.cli.parameters import (
    JsonFile,
    Overrides,
    Processes,
    RateColumn,
    ReportFile,
    writable,
)

History = Annotated[
    str | None,
    typer.Option(
        metavar="YYYYMMDD,...",
        help="Trading days before that day, which the policies with a memory have seen.",
        show_default="none",
    ),
]

COMMANDS = {
    "paper-random-walk": (
        "The paper's random walk of arrival rates (its Fig. 5a): 180 s, threshold 1.5 ms.",
        (),
    ),
    "paper-step": (
        "The paper's sudden change (its Fig. 6): 300,000 to 400,000 quotes/s at second 30.",
        (),
    ),
    "equity-day": (
        "A real trading day of US equity ticks, 100 times faster, threshold 7 ms.",
        ("day", "history", "peak_load"),
    ),
    "replay": (
        "Any file of arrival rates, one a control step, scaled to the plant's capacity.",
        ("rates_file", "rate_column", "peak_load", "max_steps"),
    ),
}
"""Name: what it is, and the options that only some scenarios have."""


COLUMNS = (
    ("violations", "violations", "{:.2f}", 1.0),
    ("reconfig.", "reconfigurations", "{:.2f}", 1.0),
    ("executors", "mean_executors", "{:.2f}", 1.0),
    ("power W", "mean_power_w", "{:.2f}", 1.0),
    ("amplitude", "amplitude", "{:.2f}", 1.0),
    ("mean ms", "latency_mean_s", "{:.3f}", 1e3),
    ("p99 ms", "latency_p99_s", "{:.2f}", 1e3),
    ("decision ms", "decision_ms_p50", "{:.2f}", 1.0),
)


def add_to(app: typer.Typer) -> None:
    special = {option for _, options in COMMANDS.values() for option in options}
    for name, (summary, own) in COMMANDS.items():
        app.command(name, help=summary)(_command(name, special - set(own)))


def _command(scenario: str, left_out: set[str]) -> Callable[..., None]:
    """`compare` for one scenario, without the options that mean nothing there."""

    def command(**options: Any) -> None:
        compare(scenario, **options)

    parameters = list(inspect.signature(compare).parameters.values())[1:]
    offered = [parameter for parameter in parameters if parameter.name not in left_out]
    command.__dict__["__signature__"] = inspect.Signature(offered)
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in offered}
    return command


def compare(
    scenario: str,
    *,
    rates_file: Path | None = typer.Option(
        None,
        "--rates",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="File of arrival rates, one line per step; plain or gzipped.  [required]",
    ),
    rate_column: RateColumn = None,
    day: str = typer.Option(
        "20131007",
        metavar="YYYYMMDD",
        help="Trading day whose ticks are read from the data folder.",
    ),
    history: History = None,
    peak_load: PeakLoad = 0.9,
    max_steps: MaxSteps = 600,
    policies: str | None = typer.Option(
        None,
        metavar="A,B,...",
        help="Policies to compare.",
        show_default="all, with foresight and oracle",
    ),
    repeat: Repeat = 3,
    seed: FirstSeed = 1,
    curve: int = typer.Option(
        0,
        min=0,
        metavar="N",
        help="Also draw foresight's curve over alpha and the clairvoyant bound, with N "
        "repetitions a point.",
    ),
    json_file: JsonFile = None,
    report: ReportFile = None,
    picture: str | None = typer.Option(
        None,
        metavar="FILE",
        callback=writable,
        help="Write the comparison as one picture (SVG) to this file; needs matplotlib.",
    ),
    data: DataFolder = None,
    processes: Processes = None,
    config_file: Path | None = typer.Option(
        None, "--config", metavar="FILE", help="Configuration file of the policies."
    ),
    overrides: Overrides = None,
    paper_forecast: str = typer.Option(
        "mean-3",
        metavar="NAME",
        help="Forecast of lat-node and lat-power; the paper names holt-winters, its authors' "
        "code uses mean-3.",
    ),
    latency_ms: float | None = typer.Option(
        None, min=0.001, help="Latency threshold in ms.", show_default="the scenario's"
    ),
    step_s: float | None = typer.Option(
        None, min=1, max=60, help="Seconds of a control step.", show_default="1"
    ),
) -> None:
    """Run every policy on the same simulated tuples and show what each made of them."""
    from benchmarks.mpc_paper import sweep
    from benchmarks.mpc_paper.catalogue import ALL_POLICIES
    from benchmarks.mpc_paper.scenarios import ScenarioRequest
    from benchmarks.report import check_picture, write_report, write_svg
    from benchmarks.tables import means_table
    from benchmarks.workloads.data import default_data
    from runtime.cli.output import Results, progress_bar, results_console, write_json
    from runtime.config import load_config

    if picture is not None:
        check_picture()
    request = sweep.ComparisonRequest(
        scenario=ScenarioRequest(
            name=scenario,
            data=data or default_data(),
            day=day,
            history=tuple(history.split(",")) if history else (),
            rates_file=rates_file,
            rate_column=rate_column,
            peak_load=peak_load,
            max_steps=max_steps,
            threshold_s=None if latency_ms is None else latency_ms / 1e3,
            step_s=step_s,
            paper_forecast=paper_forecast,
        ),
        policies=tuple(policies.split(",")) if policies else ALL_POLICIES,
        repeat=repeat,
        seed=seed,
        config=load_config(config_file, overrides or ()),
        curve_repeat=curve,
    )
    with progress_bar(scenario, sweep.number_of_runs(request)) as finish:
        comparison = sweep.compare(request, processes, finish)
    rows = [run.row for run in comparison.runs]
    title = (
        f"{scenario}: {comparison.source} "
        f"(simulation, threshold {comparison.threshold_s * 1e3:g} ms)"
    )
    results_console(json_file).print(means_table(title, rows, COLUMNS))
    if json_file is not None:
        write_json(Results(scenario, "simulation", rows), json_file)
    for file, write in ((report, write_report), (picture, write_svg)):
        if file is not None:
            write(comparison, Path(file))
            print(f"wrote {file}", file=sys.stderr)
