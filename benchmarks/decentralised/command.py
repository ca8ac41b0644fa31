"""`foresight bench decentralised`: the decentralised scaling protocol against its paper."""

import typer

from runtime.cli.parameters import JsonFile


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command()(decentralised)


def decentralised(
    repeat: int = typer.Option(10, min=1, max=1000, help="Number of random loads."),
    schedules: int = typer.Option(
        1000, min=1, max=1_000_000, help="Number of random schedules per check."
    ),
    seed: int = typer.Option(0, min=0, help="Seed of loads, decisions and schedules."),
    traces: bool = typer.Option(False, "--traces", help="Print the shortest counter-examples."),
    json_file: JsonFile = None,
) -> None:
    """Accuracy, throughput and messages of the protocol beside its paper's, and its promises.

    200 steps of five operators under random loads, the message formula, the growth with the
    number of nodes, and random schedules that look for a lost record.
    """
    from benchmarks.decentralised.checks import INCOMPLETE, Check, checks
    from benchmarks.decentralised.figures import ProtocolFigure, SlowNetwork, figures, slow_networks
    from runtime.cli.output import (
        Results,
        activity,
        progress_bar,
        results_console,
        table,
        write_json,
    )

    with activity("decentralised") as begin:
        compared = figures(repeat, seed, begin)
        slow = slow_networks(seed, begin)
    with progress_bar("random schedules", schedules * (1 + len(INCOMPLETE))) as finish:
        checked, stories = checks(schedules, seed, finish)
    console = results_console(json_file)
    console.print(table(Results("decentralised", "simulation", compared)))
    console.print(table(Results("decentralised, slow messages", "simulation", slow)))
    console.print(table(Results("decentralised, random schedules", "simulation", checked)))
    if traces:
        for missing, lines in stories.items():
            console.print(f"\nwithout {missing}:", *lines, sep="\n  ", markup=False)
    if json_file is not None:
        rows: list[ProtocolFigure | SlowNetwork | Check] = [*compared, *slow, *checked]
        write_json(Results("decentralised", "simulation", rows), json_file)
