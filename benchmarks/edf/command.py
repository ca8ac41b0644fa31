"""`foresight bench edf`: hierarchical control of a query of several operators, as in Cardellini et
al. 2018.
"""

from typing import TYPE_CHECKING

import typer

from benchmarks.parameters import DataFolder
from runtime.cli.parameters import JsonFile

if TYPE_CHECKING:
    from rich.table import Table

    from benchmarks.edf.table import EdfTable, EdfTableRow

LOCAL_POLICIES = ("threshold", "q-learning", "model-based")
COLUMNS = {
    "mean_ms": ("mean ms", 1),
    "p50_ms": ("P50 ms", 1),
    "p95_ms": ("P95 ms", 1),
    "replicas": ("replicas", 2),
    "downtime_percent": ("downtime %", 2),
    "violation_percent": ("violations %", 2),
}
"""Figure: title and decimals, as many as the paper gives."""


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(edf)


def edf(
    policies: str = typer.Option(
        ",".join(LOCAL_POLICIES), metavar="A,B,...", help="Local policies whose rows are run."
    ),
    hours: float = typer.Option(
        12.0, min=1, max=1000, help="Simulated hours per policy; the paper has 12."
    ),
    seed: int = typer.Option(1, min=0, help="Seed of rides, services and choices."),
    background_cores: float = typer.Option(
        0.0,
        min=0,
        max=64,
        help="Cores that other tenants want on the node of the ranking; node managers "
        "migrate replicas then. None in the paper's experiments.",
    ),
    data: DataFolder = None,
    json_file: JsonFile = None,
) -> None:
    """Threshold, Q-learning and model-based operator managers, with and without token bucket.

    Simulates the top-10 taxi routes query tuple by tuple and prints the paper's Table 1: ours,
    (the paper's), and the difference. Like the paper's, these leave out two minutes after each
    reconfiguration; "unmet" counts every moment over the target or without a result. About five
    seconds of CPU time a row.
    """
    from benchmarks.edf.choices import PUBLISHED
    from benchmarks.edf.cluster import beside_the_ranking
    from benchmarks.edf.experiment import EdfSetting
    from benchmarks.edf.table import edf_table
    from benchmarks.workloads.data import default_data
    from runtime.cli.output import Results, activity, results_console, write_json

    wanted = policies.split(",")
    for name in wanted:
        if name not in LOCAL_POLICIES:
            known = ", ".join(LOCAL_POLICIES)
            raise typer.BadParameter(f"{name!r} is not one of {known}.", param_hint="'--policies'")
    choices = [choice for choice in PUBLISHED if choice.local in wanted]
    setting = EdfSetting(
        hours=hours,
        other_cores=beside_the_ranking(background_cores),
        migration=background_cores > 0,
    )
    with activity("edf") as begin:
        table = edf_table(data or default_data(), seed, setting, begin, choices)
    results_console(json_file).print(_printed(table))
    if json_file is not None:
        write_json(Results(f"edf: {table.source}", "simulation", table.rows), json_file)


def _printed(table: "EdfTable") -> "Table":
    from rich.table import Table

    printed = Table(
        title=f"edf: {table.source} (simulation); ours (paper's) difference", title_justify="left"
    )
    printed.add_column("policy")
    printed.add_column("bucket")
    for title, _ in COLUMNS.values():
        printed.add_column(title, justify="right")
    printed.add_column("unmet %", justify="right")
    printed.add_column("reconfig.", justify="right")
    printed.add_column("granted", justify="right")
    for row in table.rows:
        share = f"{row.granted / row.requests:.1%}" if row.requests else "-"
        cells = [_cell(row, name, decimals) for name, (_, decimals) in COLUMNS.items()]
        bucket = "yes" if row.bucket else "no"
        own = (f"{row.unmet_percent:.2f}", str(row.reconfigurations), share)
        printed.add_row(row.policy, bucket, *cells, *own)
    return printed


def _cell(row: "EdfTableRow", name: str, decimals: int) -> str:
    paper = f"({getattr(row.paper, name):.{decimals}f})"
    if row.ours is None or row.difference is None:
        return f"- {paper}"
    ours, difference = getattr(row.ours, name), getattr(row.difference, name)
    return f"{ours:.{decimals}f} {paper} {difference:+.{decimals}f}"
