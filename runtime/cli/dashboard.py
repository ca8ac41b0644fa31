"""`foresight dashboard`: the live page for a journal, beside a run or after it."""

from pathlib import Path

import typer


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(dashboard)


def dashboard(
    journal: Path = typer.Argument(
        ..., metavar="JOURNAL", help="Folder of a journal, or of several."
    ),
    listen: str = typer.Option(
        "127.0.0.1:4050",
        metavar="ADDRESS:PORT",
        help="Where to listen; the next free port if it is taken.",
    ),
    token_file: Path | None = typer.Option(
        None, metavar="FILE", help="File with the token that opens the page; a must off loopback."
    ),
) -> None:
    """Serve the page of a journal: charts, decisions and their reasons.

    It follows a journal that is still written, and shows all of one that is not. Ctrl-C ends it.
    """
    import threading

    from runtime.config.web import Web
    from runtime.insight.journals import journal_folder
    from runtime.web.server import journal_server

    address, port = _listen(listen)
    options = Web(
        address=address, port=port, token_file=None if token_file is None else str(token_file)
    )
    with journal_server(options, journal_folder(journal)) as server:
        typer.echo(server.url)
        threading.Event().wait()


def _listen(text: str) -> tuple[str, int]:
    address, colon, port = text.rpartition(":")
    if not colon or not address or not port.isdigit() or int(port) > 65535:
        raise typer.BadParameter(
            f"{text!r} must be written ADDRESS:PORT, as 127.0.0.1:4050", param_hint="'--listen'"
        )
    return address.removeprefix("[").removesuffix("]"), int(port)
