"""`foresight pause | resume`: keep a controller from changing anything, and let it again."""

import time
from pathlib import Path
from typing import Annotated

import typer

JournalFolder = Annotated[
    Path,
    typer.Argument(metavar="JOURNAL", help="Folder of its journal, or the one above it."),
]


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command()(pause)
    app.command()(resume)


def pause(
    journal: JournalFolder = Path("foresight-journal"),
    reason: str = typer.Option("", metavar="TEXT", help="Shown with every step that is held."),
) -> None:
    """Let a controller decide and journal, but change nothing, until it is resumed.

    It holds from the next step on, and also after a restart. Executors stay, hosts keep their
    frequency and agents their leases.
    """
    from runtime.control import holds
    from runtime.insight.journals import journal_folder

    folder = journal_folder(journal)
    new = holds.pause(folder, time.time(), reason)
    typer.echo(f"{folder}: {'paused' if new else 'is paused already'}")


def resume(journal: JournalFolder = Path("foresight-journal")) -> None:
    """Let a paused controller change things again, from its next step on."""
    from runtime.control import holds
    from runtime.insight.journals import journal_folder

    folder = journal_folder(journal)
    was = holds.resume(folder)
    typer.echo(f"{folder}: {'resumed' if was else 'was not paused'}")
