"""`foresight doctor`: what a host can do, and what to fix."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from runtime.doctor.findings import Level


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(doctor)


def doctor(
    root: Path | None = typer.Option(
        None,
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Examine the sysfs tree below this folder (DIR/sys/...) instead of this host.",
    ),
    capture: Path | None = typer.Option(
        None,
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Examine a captured sysfs tree, lines of ro|/sys/...|value.",
    ),
    json: bool = typer.Option(False, "--json", help="Print a JSON document."),
) -> None:
    """Tell what this host can do: frequencies, energy, permissions, rivals, software.

    Exit code 0: usable; 1: something prevents capping or metering.
    """
    from runtime.doctor.examine import examine_capture, examine_folder, examine_host
    from runtime.doctor.report import document, report

    if root is not None and capture is not None:
        raise typer.BadParameter("--root and --capture exclude each other")
    if capture is not None:
        diagnosis = examine_capture(capture)
    elif root is not None:
        if not (root / "sys").is_dir():
            raise typer.BadParameter(f"{root} has no folder sys", param_hint="'--root'")
        diagnosis = examine_folder(root)
    else:
        diagnosis = examine_host()
    typer.echo(document(diagnosis) if json else report(diagnosis, style=_coloured), nl=False)
    if not diagnosis.usable:
        raise typer.Exit(1)


def _coloured(word: str, level: "Level") -> str:
    # echo() takes the colours out again where there is no terminal.
    colour = {"ok": typer.colors.GREEN, "warning": typer.colors.YELLOW, "problem": typer.colors.RED}
    return typer.style(word, fg=colour[level])
