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
from runtime.config.schema import Frequency
from runtime.spark.sensing.sources.catalogue import third_party_sources

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
    from runtime.build import refuse_operator_model

    config = load_config(config_file, overrides or ())
    try:
        refuse_operator_model(config)
    except ValueError as error:
        raise ConfigError(str(config_file), str(error)) from None
    typer.echo(f"{config_file}: valid")
    for name, value in _summary(config):
        typer.echo(f"  {name:<15} {value}")
    for broken in (
        *third_party_policies().broken,
        *third_party_forecasters().broken,
        *third_party_sources().broken,
    ):
        typer.echo(f"warning: {broken.name} cannot be loaded: {broken.reason}", err=True)


@app.command()
def config() -> None:
    """Print a commented configuration with every option and its default."""
    from runtime.config.documents import default_toml

    typer.echo(default_toml(), nl=False)


def _target(config: Config) -> str:
    latency, quantile = f"{config.slo.latency_ms:g} ms", config.slo.quantile
    return latency if quantile is None else f"{latency} for {quantile:.4g} of the rows"


def _summary(config: Config) -> list[tuple[str, str]]:
    cost, forecast = config.cost, config.forecast
    weights = cost.weights
    risk = f"beyond {forecast.risk_quantile:g} of " if forecast.risk == "cvar" else "mean of "
    given = msgspec.structs.asdict(config.limits).items()
    return [
        ("policy", config.policy),
        ("target", _target(config)),
        (
            "objective",
            f"{weights.latency:g} latency + {weights.resource:g} {cost.resource} + "
            f"{weights.switching:g} switching, {cost.scaling} scaling",
        ),
        ("horizon", f"{config.horizon.steps} steps of {config.horizon.step_s:g} s"),
        ("executors", f"{config.executors.min} to {config.executors.max}"),
        ("frequencies", _frequencies(config.frequency)),
        ("forecast", f"{forecast.model}, {risk}{forecast.scenarios} scenarios"),
        ("latency model", config.latency.model),
        ("limits", ", ".join(f"{key} {value:g}" for key, value in given if value is not None)),
    ]


def _frequencies(frequency: Frequency) -> str:
    """What the hosts have is not known here."""
    if frequency.list_khz is not None:
        listed = ", ".join(str(khz) for khz in frequency.list_khz)
        words = f"of {listed} kHz those that the hosts have"
    elif frequency.min_khz is None and frequency.max_khz is None:
        words = "what the hosts have"
    else:
        low = "their lowest" if frequency.min_khz is None else f"{frequency.min_khz} kHz"
        high = "their highest" if frequency.max_khz is None else f"{frequency.max_khz} kHz"
        words = f"what the hosts have from {low} to {high}"
    return f"{words}, {'with' if frequency.turbo else 'without'} turbo"
