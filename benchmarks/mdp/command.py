"""`foresight bench mdp`: scaling as a Markov decision process, solved and learned (Russo Russo
2018).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import typer

from benchmarks.parameters import DataFolder
from runtime.cli.parameters import JsonFile, Processes

if TYPE_CHECKING:
    from _typeshed import DataclassInstance
    from rich.table import Table

    from benchmarks.mdp.published import MdpTableRow


@dataclass(frozen=True, slots=True)
class Marked:
    """A row of the JSON document and the table it belongs to."""

    part: str
    figures: "DataclassInstance"


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(mdp)


def mdp(
    days: int = typer.Option(365, min=1, max=3650, help="Simulated days, of 1,440 slots each."),
    operators: int = typer.Option(4, min=3, max=5, help="Largest number of operators in Fig. 2b."),
    sla_ms: float | None = typer.Option(
        None,
        min=1,
        help="Largest response time of the pipeline in ms. Without it 650 ms an operator: "
        "the paper's 650 ms for all three are less than their service times.",
    ),
    memory_mb: int = typer.Option(
        1024, min=1, max=1_000_000, help="Most memory in MB that the search for the limit may use."
    ),
    seed: int = typer.Option(1, min=0, help="Seed of the arrivals."),
    data: DataFolder = None,
    processes: Processes = None,
    json_file: JsonFile = None,
) -> None:
    """A year of a pipeline of M/D/1 operators under centralised and decentralised control.

    Prints the paper's Table 1 and cost curves beside ours, and how many operators centralised
    control can take. Some minutes.
    """
    from benchmarks.mdp import published
    from benchmarks.mdp.limits import limit_rows
    from benchmarks.mdp.runs import MdpWorkload, drawn, run
    from benchmarks.workloads.data import default_data
    from mpc.simulation.pool import run_all
    from runtime.cli.output import (
        Results,
        activity,
        progress_bar,
        results_console,
        table,
        write_json,
    )

    workload = MdpWorkload(data or default_data(), seed, days)
    jobs = published.jobs(workload, None if sla_ms is None else sla_ms / 1e3, operators)
    arrivals, _ = drawn(workload)
    with progress_bar("mdp", len(jobs)) as finish:
        runs = run_all(run, jobs, processes, finish)
    with activity("limit of centralised control") as begin:
        limits = limit_rows(arrivals, begin, memory_mb << 20)
    rows = published.table_1(runs)
    reading = "" if sla_ms else " (650 ms an operator; 650 ms for all is less than they serve in)"
    console = results_console(json_file)
    limit_s = runs[0].job.setting.response_limit_s
    console.print(
        f"arrivals: {arrivals.source}; {len(arrivals.transitions)} levels of 20 a minute\n"
        f"response time not to exceed with 3 operators: {limit_s * 1e3:,.0f} ms{reading}"
    )
    console.print(_table_1(rows))
    parts: dict[str, Sequence[DataclassInstance]] = {
        "Table 1": rows,
        "Fig. 2a": published.figure_2a(runs),
        "Fig. 2b": published.figure_2b(runs),
        "limit of centralised control": limits,
    }
    titles = {
        "Fig. 2a": "Fig. 2a: mean cost from the start to the end of a day",
        "Fig. 2b": f"Fig. 2b: mean cost of {days} days, decentralised with U=0.7",
    }
    for part, figures in list(parts.items())[1:]:
        console.print(table(Results(titles.get(part, part), "simulation", figures)))
    if json_file is not None:
        marked = [Marked(part, row) for part, figures in parts.items() for row in figures]
        write_json(Results("mdp", "simulation", marked), json_file)


def _table_1(rows: Sequence["MdpTableRow"]) -> "Table":
    """Every figure as "ours (paper, difference)"."""
    from rich.table import Table

    grid = Table(title="Table 1: three operators, counts for a year", title_justify="left")
    grid.add_column("policy")
    for name in ("cost", "violations", "reconfigurations", "instances"):
        grid.add_column(name, justify="right")
        grid.add_column("paper", justify="right")
        grid.add_column("difference", justify="right")
    grid.add_column("CPU s", justify="right")
    for row in rows:
        grid.add_row(
            row.policy,
            f"{row.cost:.4f}",
            f"{row.paper_cost:.3f}",
            f"{row.cost_difference:+.4f}",
            f"{row.violations:,}",
            f"{row.paper_violations:,}",
            f"{row.violations_difference:+,}",
            f"{row.reconfigurations:,}",
            f"{row.paper_reconfigurations:,}",
            f"{row.reconfigurations_difference:+,}",
            f"{row.instances:.2f}",
            f"{row.paper_instances:.2f}",
            f"{row.instances_difference:+.2f}",
            f"{row.cpu_s:.0f}",
        )
    return grid
