"""`foresight bench resume`: what a restarted controller waits for before its first step."""

from typing import Annotated

import typer

from runtime.cli.parameters import JsonFile


def add_to(bench_app: typer.Typer) -> None:
    """Register the commands of this file."""
    bench_app.command()(resume)


def resume(
    policies: Annotated[
        str | None,
        typer.Option(metavar="A,B,...", help="Some policies only.", show_default="all"),
    ] = None,
    steps: Annotated[
        int, typer.Option(min=60, max=100_000, help="Journaled steps to resume from.")
    ] = 600,
    seed: Annotated[int, typer.Option(min=0, help="Of the arrivals and of the policies.")] = 1,
    json_file: JsonFile = None,
) -> None:
    """Replaying the journal against going on from a snapshot, for every policy that learns."""
    from benchmarks.resume_bench import RESUMABLE, resume_rows
    from runtime.cli.output import Results, activity, show

    names = RESUMABLE if policies is None else tuple(policies.split(","))
    unknown = sorted(set(names) - set(RESUMABLE))
    if unknown:
        raise typer.BadParameter(
            f"unknown policy {', '.join(unknown)}; known: {', '.join(RESUMABLE)}."
        )
    with activity("resume") as begin:
        rows = resume_rows(names, steps, seed, begin)
    show(Results("resume", "measured", rows), json_file)
