"""`foresight report`: a recorded run, or the difference of two, as one page."""

from pathlib import Path

import typer

from runtime.cli.explain import JournalFolder
from runtime.cli.parameters import writable


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(report)


def report(
    journal: JournalFolder,
    other: Path | None = typer.Argument(
        None, metavar="[OTHER]", help="A second journal to set beside the first."
    ),
    output: str = typer.Option(
        "report.html", "--output", "-o", metavar="FILE", callback=writable, help="The HTML page."
    ),
) -> None:
    """One self-contained HTML page about a recorded run, or about the difference of two."""
    from runtime.cli.output import activity
    from runtime.insight.journals import recorded_run
    from runtime.insight.report import render_report

    with activity("report") as begin:
        begin(f"reading {journal}")
        run = recorded_run(journal)
        second = None if other is None else recorded_run(other)
        begin("drawing")
        page = render_report(run, second)
        Path(output).write_text(page, encoding="utf-8")
    typer.echo(run.about)
    if second is not None:
        typer.echo(second.about)
    typer.echo(f"{output}: {len(page) / 1e3:,.0f} kB")
