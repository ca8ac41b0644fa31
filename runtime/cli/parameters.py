"""Command-line parameters that several commands share.

Imported at start-up by every command, so nothing heavy may be imported here.
"""

import os
from pathlib import Path
from typing import Annotated

import typer

STANDARD_OUTPUT = "-"


def writable(value: str | None) -> str | None:
    """Refuse a result file that cannot be written now, not after minutes of work."""
    if value is None or value == STANDARD_OUTPUT:
        return value
    path = Path(value)
    if path.is_dir():
        raise typer.BadParameter(f"{value} is a directory.")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise typer.BadParameter(f"{path.parent} cannot be made: {error.strerror}.") from error
    if not os.access(path if path.exists() else path.parent, os.W_OK):
        raise typer.BadParameter(f"{value} cannot be written.")
    return value


JsonFile = Annotated[
    str | None,
    typer.Option(
        "--json",
        metavar="FILE",
        callback=writable,
        help='Write the rows as JSON; "-" means standard output, and nothing else goes there.',
    ),
]

Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="SECTION.KEY=VALUE",
        help="Change one option of the configuration (repeatable).",
    ),
]

Processes = Annotated[
    int | None, typer.Option(min=1, help="Number of worker processes.", show_default="one per core")
]

RateColumn = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="Column of the rate file that holds the rates: its name, or its position from 0.",
    ),
]

ReportFile = Annotated[
    str | None,
    typer.Option(metavar="FILE", callback=writable, help="Write an HTML report to this file."),
]
