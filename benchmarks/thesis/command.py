"""`foresight bench thesis`: the experiments of the Spark Streaming thesis (Azimi Gehraz 2018,
chapter 5).
"""

from typing import TYPE_CHECKING

import typer

from benchmarks.parameters import FirstSeed
from runtime.cli.parameters import JsonFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rich.table import Table

    from benchmarks.thesis.comparison import ThesisRow


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(thesis)


def thesis(
    experiments: str | None = typer.Option(
        None,
        "--experiments",
        metavar="A,B,...",
        help="Experiments to run, of executor-strategy, history-window, decision-interval, "
        "initialiser, learning-factor, discretisation, value-iteration, target, overall and "
        "exploration.",
        show_default="all",
    ),
    runs: int = typer.Option(
        10, min=1, max=1000, help="Number of repetitions to average; the thesis has 2."
    ),
    seed: FirstSeed = 1,
    json_file: JsonFile = None,
) -> None:
    """Q-learning, value iteration and their competitors, predicting energy use per device.

    One hour of two workloads on the simulator, batches of 10 s, 4 to 24 executors; some 10 s a
    repetition. Below, what the thesis concludes, and whether it holds here.
    """
    from benchmarks.thesis.claims import claims
    from benchmarks.thesis.comparison import compare
    from benchmarks.thesis.experiments import EXPERIMENTS
    from runtime.cli.output import Results, activity, results_console, table, write_json

    names = list(EXPERIMENTS) if experiments is None else experiments.split(",")
    for name in names:
        if name not in EXPERIMENTS:
            known = ", ".join(EXPERIMENTS)
            raise typer.BadParameter(f"{name!r} is not one of {known}.", param_hint="experiments")
    with activity("thesis") as begin:
        rows = compare(names, runs, seed, begin)
    console = results_console(json_file)
    console.print(_summary(rows))
    checked = claims(rows)
    if checked:
        console.print(
            table(Results("what the thesis concludes", "checked on the rows above", checked))
        )
    if json_file is not None:
        write_json(Results("thesis", "simulation", rows), json_file)


def _summary(rows: "Sequence[ThesisRow]") -> "Table":
    """For people; every figure is in the JSON."""
    from rich.table import Table

    from runtime.cli.output import cell

    columns = {
        "mean s": "latency_mean_s",
        "p10 s": "latency_p10_s",
        "p90 s": "latency_p90_s",
        "max s": "latency_max_s",
        "over target": "over_target",
        "executors": "executors_mean",
        "p10": "executors_p10",
        "p90": "executors_p90",
        "changes": "changes",
        "thesis": "thesis_executors",
        "difference": "difference",
    }
    grid = Table(title="thesis, chapter 5 (simulation)", title_justify="left")
    for title in ("experiment", "section", "load", "case"):
        grid.add_column(title, no_wrap=True)
    for title in columns:
        grid.add_column(title, justify="right")
    for row in rows:
        figures = (cell(getattr(row, name)) for name in columns.values())
        grid.add_row(row.experiment, row.section, row.workload, row.case, *figures)
    return grid
