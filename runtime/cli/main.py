"""The `foresight` command: its root, `check` and `config`, and how failures are told.

Commands import what they need when they run, so that `foresight --version` starts at once.
Exit codes: 0 success, 1 failure, 2 wrong usage or configuration, 130 interrupted.
"""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

import msgspec
import typer

from forecasting.catalogue import third_party_forecasters
from mpc.policies.catalogue import third_party_policies
from runtime.cli import (
    calibrate,
    dashboard,
    doctor,
    explain,
    kubernetes,
    pause,
    replay,
    report,
    submit,
    top,
    tune,
)
from runtime.cli.agent import agent_app
from runtime.cli.extensions import ExtensibleGroup
from runtime.cli.parameters import Overrides
from runtime.config import Config, ConfigError, load_config

TRACEBACK_VARIABLE = "FORESIGHT_TRACEBACK"
INTERRUPTED = 130

app = typer.Typer(
    name="foresight",
    cls=ExtensibleGroup,
    help="Predictive, energy-aware autoscaling for Spark Structured Streaming.",
    add_completion=True,
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)
app.add_typer(agent_app, name="agent")
for part in (
    submit,
    top,
    dashboard,
    explain,
    replay,
    report,
    pause,
    tune,
    calibrate,
    doctor,
    kubernetes,
):
    part.add_to(app)


def run(arguments: Sequence[str] | None = None) -> int:
    """Run the command line and return its exit code; every failure is one line on stderr."""
    try:
        code = app(arguments, prog_name="foresight", standalone_mode=False)
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        return _report_error(error)
    if code == INTERRUPTED:
        return _fail("foresight: interrupted", INTERRUPTED)
    return code if isinstance(code, int) else 0


def _report_error(error: Exception) -> int:
    if isinstance(error, ConfigError):
        return _fail(str(error), 2)
    if isinstance(error, typer.TyperException):
        # The help shown for a group without a command comes as an error without words.
        words = error.format_message()
        return _fail(f"foresight: {words}", error.exit_code) if words else error.exit_code
    if isinstance(error, ValueError | OSError):
        return _fail(f"foresight: {error}", 1)
    return _fail(
        f"foresight: unexpected {type(error).__name__}: {error} "
        f"({TRACEBACK_VARIABLE}=1 shows where)",
        1,
    )


def _fail(message: str, code: int) -> int:
    print(" ".join(message.split()), file=sys.stderr)
    return code


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"foresight {version('foresight-autoscaler')}")
        raise typer.Exit


@app.callback()
def root(
    version: bool = typer.Option(
        False,
        "--version",
        callback=_print_version,
        is_eager=True,
        help="Print the version and exit.",
    ),
) -> None:
    """Predictive, energy-aware autoscaling for Spark Structured Streaming."""


@app.command()
def check(
    config_file: Path = typer.Argument(..., metavar="CONFIG", help="The TOML file."),
    overrides: Overrides = None,
) -> None:
    """Validate a configuration and print what it means."""
    config = load_config(config_file, overrides or ())
    typer.echo(f"{config_file}: valid")
    for name, value in _summary(config):
        typer.echo(f"  {name:<15} {value}")
    for broken in (*third_party_policies().broken, *third_party_forecasters().broken):
        typer.echo(f"warning: {broken.name} cannot be loaded: {broken.reason}", err=True)


@app.command()
def config() -> None:
    """Print a commented configuration with every option and its default."""
    from runtime.config.documents import default_toml

    typer.echo(default_toml(), nl=False)


def _summary(config: Config) -> list[tuple[str, str]]:
    cost, forecast, frequencies = config.cost, config.forecast, config.frequency.frequencies_khz
    weights = cost.weights
    risk = f"beyond {config.slo.quantile:g} of " if forecast.risk == "cvar" else "mean of "
    given = msgspec.structs.asdict(config.limits).items()
    return [
        ("policy", config.policy),
        ("target", f"{config.slo.latency_ms:g} ms"),
        (
            "objective",
            f"{weights.latency:g} latency + {weights.resource:g} {cost.resource} + "
            f"{weights.switching:g} switching, {cost.scaling} scaling",
        ),
        ("horizon", f"{config.horizon.steps} steps of {config.horizon.step_s:g} s"),
        ("executors", f"{config.executors.min} to {config.executors.max}"),
        ("frequencies", f"{len(frequencies)}, {frequencies[0]} to {frequencies[-1]} kHz"),
        ("configurations", str(config.configurations)),
        ("forecast", f"{forecast.model}, {risk}{forecast.scenarios} scenarios"),
        ("latency model", config.latency.model),
        ("limits", ", ".join(f"{key} {value:g}" for key, value in given if value is not None)),
    ]
