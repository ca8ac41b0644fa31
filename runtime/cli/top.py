"""`foresight top`: a running application at a glance, in a terminal."""

from pathlib import Path

import typer

DEFAULT_JOURNAL = Path("foresight-journal")


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(top)


def top(
    journal: Path = typer.Argument(
        DEFAULT_JOURNAL, metavar="[JOURNAL]", help="Folder of a journal, or of several."
    ),
    once: bool = typer.Option(False, "--once", help="Print it once and end."),
    interval_s: float = typer.Option(
        1.0, "--interval", metavar="SECONDS", min=0.1, max=60, help="Time between looks."
    ),
) -> None:
    """Show load, latency, executors, power and the last decisions, and keep them up to date.

    Reads the journal and touches nothing. Ctrl-C ends it.
    """
    import time

    from rich.console import Console
    from rich.live import Live

    from runtime.insight.journals import journal_folder
    from runtime.metrics.facts import facts_in
    from runtime.metrics.state import MOST_POINTS, RunState
    from runtime.web.follow import JournalTail
    from runtime.web.terminal import screen

    folder = journal_folder(journal)
    state = RunState(facts_in(folder))
    tail = JournalTail(folder, MOST_POINTS)
    console = Console(highlight=False)

    def look() -> None:
        for record in tail.poll():
            state.add(record)

    look()
    if once or not console.is_terminal:
        console.print(screen(state, time.time(), console.width))
        return
    with Live(console=console, screen=True, auto_refresh=False) as display:
        while True:
            display.update(screen(state, time.time(), console.width), refresh=True)
            time.sleep(interval_s)
            look()
