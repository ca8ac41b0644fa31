"""`foresight submit`: run a PySpark application under control."""

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from runtime.cli.parameters import Overrides

if TYPE_CHECKING:
    from runtime.spark.launching.local_application import LocalSetting


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    # What follows the application is the application's, options too.
    app.command(context_settings={"allow_interspersed_args": False})(submit)


def submit(
    application: Path = typer.Argument(..., metavar="APP", help="A PySpark script."),
    arguments: list[str] | None = typer.Argument(
        None, metavar="[ARGS]...", help="Arguments of the application."
    ),
    config_file: Path | None = typer.Option(
        None, "--config", metavar="FILE", help="Configuration; defaults without it."
    ),
    overrides: Overrides = None,
    master: str | None = typer.Option(
        None, metavar="URL", help="Cluster, unless the application names one."
    ),
    local: str | None = typer.Option(
        None,
        metavar="HOSTS[xCPUS]",
        help="Run on a cluster of this machine that ends with the application, such as 2x2.",
    ),
    emulate: bool = typer.Option(
        False,
        "--emulate",
        help="With --local: hosts with an emulated CPU frequency and energy counter.",
    ),
    conf: list[str] | None = typer.Option(
        None, metavar="KEY=VALUE", help="Spark option, as for spark-submit (repeatable)."
    ),
) -> None:
    """Run an unmodified PySpark application with Foresight in charge of its executors.

    Options of Spark that make scaling fast are added unless they are set. The exit code is the
    application's; 2 if it cannot be controlled.
    """
    from runtime.config import load_config
    from runtime.spark.launching.submit import run_application, run_locally

    config = load_config(config_file, overrides or ())
    options = dict(_option(text) for text in conf or ())
    setting = _setting(local, emulate, master)
    if setting is None:
        code = run_application(application, arguments or (), config, master, options)
    else:
        code = run_locally(application, arguments or (), config, setting, options)
    if code:
        raise typer.Exit(code)


def _setting(local: str | None, emulate: bool, master: str | None) -> "LocalSetting | None":
    from runtime.spark.launching.local_application import LocalSetting

    if local is None:
        if emulate:
            raise typer.BadParameter("needs --local.", param_hint="'--emulate'")
        return None
    if master is not None:
        raise typer.BadParameter("cannot stand beside --master.", param_hint="'--local'")
    try:
        return LocalSetting.parse(local, emulate)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="'--local'") from None


def _option(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals or not key:
        raise typer.BadParameter(f"{text!r} must be written KEY=VALUE", param_hint="'--conf'")
    return key, value
