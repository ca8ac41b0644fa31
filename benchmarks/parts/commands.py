"""`foresight bench optimizer | forecast | power | dvfs | agent | resume`: parts, alone."""

from pathlib import Path

import typer

from benchmarks.parameters import RatesFile
from runtime.cli.parameters import JsonFile, RateColumn


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    for command in (optimizer, forecast, power, dvfs, agent, resume):
        app.command()(command)


def optimizer(
    seconds: float = typer.Option(
        1.5, min=0, max=600, help="Time for each row of the table; at least 5 problems are solved."
    ),
    json_file: JsonFile = None,
) -> None:
    """Time and nodes of the horizon search, against the size of the space it searches."""
    from benchmarks.parts.optimizer import optimizer_rows
    from runtime.cli.output import Results, activity, show

    with activity("optimizer") as begin:
        rows = optimizer_rows(seconds, begin)
    show(Results("optimizer", "measured", rows), json_file)


def forecast(
    rates_file: RatesFile,
    rate_column: RateColumn = None,
    models: list[str] | None = typer.Option(
        None,
        "--model",
        metavar="NAME",
        help="Forecasting model to measure (repeatable).",
        show_default="all",
    ),
    horizon: int = typer.Option(10, min=1, max=60, help="Number of steps to forecast."),
    json_file: JsonFile = None,
) -> None:
    """Error, interval coverage and time of every forecasting model on a trace."""
    from benchmarks.parts.forecast import evaluate_forecasters
    from forecasting.catalogue import forecaster_names
    from runtime.cli.output import Results, activity, show
    from runtime.rates import read_rates

    for model in models or ():
        if model not in forecaster_names():
            names = ", ".join(forecaster_names())
            raise typer.BadParameter(f"{model!r} is not one of {names}.", param_hint="'--model'")
    rates = read_rates(rates_file, rate_column)
    with activity("forecast") as begin:
        rows = evaluate_forecasters(rates, models or forecaster_names(), horizon, begin)
    show(Results("forecast", "replay", rows), json_file)


def power(
    sweep: Path = typer.Option(
        ...,
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="File with the measured power over workers and frequencies.",
    ),
    json_file: JsonFile = None,
) -> None:
    """Error of every power model on a measured sweep, by the number of calibration points."""
    from benchmarks.parts.power import power_rows
    from runtime.cli.output import Results, activity, show

    with activity("power"):
        rows = power_rows(sweep)
    show(Results("power", "measured", rows), json_file)


def dvfs(
    rounds: int = typer.Option(
        4, min=1, max=1000, help="How often each pair of frequencies is compared."
    ),
    json_file: JsonFile = None,
) -> None:
    """How closely real processes follow the frequency of an emulated host, and its energy."""
    from benchmarks.parts.dvfs import dvfs_rows
    from runtime.cli.output import Results, activity, show

    with activity("dvfs") as begin:
        rows = dvfs_rows(rounds, begin)
    show(Results("dvfs", "emulated", rows), json_file)


def agent(
    policies: int = typer.Option(
        64, min=1, max=1024, help="Number of cpufreq policies of the emulated host."
    ),
    seconds: float = typer.Option(20.0, min=2, max=3600, help="Seconds of each of the two phases."),
    json_file: JsonFile = None,
) -> None:
    """What the agent costs its host once a second, and its set-frequency round trip over mTLS."""
    from benchmarks.parts.agent import agent_rows
    from runtime.cli.output import Results, activity, show

    with activity("agent") as begin:
        rows = agent_rows(policies, seconds, begin)
    show(Results("agent", "measured", rows), json_file)


def resume(
    policies: str | None = typer.Option(
        None, metavar="A,B,...", help="Policies to measure.", show_default="all"
    ),
    steps: int = typer.Option(
        600, min=60, max=100_000, help="Number of journaled steps to resume from."
    ),
    seed: int = typer.Option(1, min=0, help="Seed of the arrivals and the policies."),
    json_file: JsonFile = None,
) -> None:
    """Replaying the journal against going on from a snapshot, for every policy that learns."""
    from benchmarks.parts.resume import RESUMABLE, resume_rows
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
