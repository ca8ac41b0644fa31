"""`foresight bench optimizer | decision | forecast | latency-model | ...`: parts, alone."""

from pathlib import Path
from typing import Annotated

import typer

from benchmarks.parameters import RatesFile
from runtime.cli.parameters import JsonFile, RateColumn


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    for command in (
        optimizer,
        decision,
        forecast,
        latency_model,
        power,
        power_online,
        dvfs,
        agent,
        resume,
    ):
        app.command()(command)


def optimizer(
    seconds: float = typer.Option(
        1.5, min=0, max=600, help="Time for each row of the table; at least 5 problems are solved."
    ),
    with_judge: bool = typer.Option(
        False,
        "--judge",
        help="Instead, compare the search with a mixed-integer program on small random problems.",
    ),
    json_file: JsonFile = None,
) -> None:
    """Time and nodes of the horizon search, against the size of the space it searches."""
    from runtime.cli.output import Results, activity, show

    if with_judge:
        from benchmarks.parts.judge import judge_rows

        with activity("optimizer") as begin:
            judged = judge_rows(seconds, begin)
        show(Results("optimizer-judge", "measured", judged), json_file)
        return
    from benchmarks.parts.optimizer import optimizer_rows

    with activity("optimizer") as begin:
        rows = optimizer_rows(seconds, begin)
    show(Results("optimizer", "measured", rows), json_file)


def decision(
    steps: int = typer.Option(
        300, min=1, max=100_000, help="Timed steps for each row, after 240 that are not timed."
    ),
    json_file: JsonFile = None,
) -> None:
    """Time of whole decisions of the default policy, on runs that are like live ones."""
    from benchmarks.parts.decision import decision_rows
    from runtime.cli.output import Results, activity, show

    with activity("decision") as begin:
        rows = decision_rows(steps, begin)
    show(Results("decision", "simulated", rows), json_file)


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
    reported_every: int | None = typer.Option(
        None,
        "--told-every",
        min=1,
        max=20,
        metavar="N",
        help="Report rates as batches of N steps do, as one mean and late, and show how many of "
        "the rates that follow stay below the 95 % scenario and below every scenario.",
    ),
    step_s: float | None = typer.Option(
        None,
        min=0.001,
        metavar="S",
        help="Seconds between two rates of the file; with it, the mixture remembers the time of "
        "the day and of the week.",
        show_default="no clock",
    ),
    shares: bool = typer.Option(
        False, "--shares", help="Show the mean share of each forecast in the mixture instead."
    ),
    json_file: JsonFile = None,
) -> None:
    """Error, interval coverage and time of every forecasting model on a trace."""
    from benchmarks.parts.forecast import evaluate_forecasters, mixture_shares
    from benchmarks.parts.reported_forecast import coverage_rows
    from forecasting.catalogue import forecaster_names
    from runtime.cli.output import Results, activity, show
    from runtime.rates import read_rates

    for model in models or ():
        if model not in forecaster_names():
            names = ", ".join(forecaster_names())
            raise typer.BadParameter(f"{model!r} is not one of {names}.", param_hint="'--model'")
    rates = read_rates(rates_file, rate_column)
    with activity("forecast") as begin:
        chosen = models or forecaster_names()
        if shares:
            results = Results("forecast", "replay", mixture_shares(rates, step_s))
        elif reported_every is not None:
            rows = coverage_rows(rates, chosen, reported_every, begin)
            results = Results("forecast", "replay", rows)
        else:
            evaluated = evaluate_forecasters(rates, chosen, horizon, begin, step_s)
            results = Results("forecast", "replay", evaluated)
    show(results, json_file)


def latency_model(
    utilisations: list[float] | None = typer.Option(
        None,
        "--rho",
        metavar="SHARE",
        min=0.01,
        max=0.99,
        help="Utilisation to measure (repeatable).",
        show_default="0.3 to 0.98",
    ),
    cvs: list[float] | None = typer.Option(
        None,
        "--cv",
        min=0,
        max=1,
        help="Coefficient of variation of the batches' durations (repeatable).",
        show_default="0 to 0.5",
    ),
    triggers_s: list[float] | None = typer.Option(
        None,
        "--trigger",
        metavar="SECONDS",
        min=0,
        max=3600,
        help="Trigger interval; 0 is back to back (repeatable).",
        show_default="0, 2 and 5",
    ),
    batches: int = typer.Option(
        3000, min=100, max=1_000_000, help="Batches of a run; 1 / (1 - rho) times as many are run."
    ),
    seeds: int = typer.Option(4, min=1, max=100, help="Runs that these are divided between."),
    json_file: JsonFile = None,
) -> None:
    """Predicted latency and share of late rows against the event-level plant, by utilisation,
    variability and trigger."""
    from benchmarks.parts.latency_model import CVS, TRIGGERS_S, UTILISATIONS, latency_model_rows
    from runtime.cli.output import Results, activity, show

    chosen = TRIGGERS_S if triggers_s is None else [seconds or None for seconds in triggers_s]
    with activity("latency-model") as begin:
        rows = latency_model_rows(
            utilisations or UTILISATIONS, CVS if cvs is None else cvs, chosen, seeds, batches, begin
        )
    show(Results("latency-model", "simulation", rows), json_file)


SweepFile = Annotated[
    Path,
    typer.Option(
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="File with the measured power over workers and frequencies.",
    ),
]


def power(
    sweep: SweepFile,
    json_file: JsonFile = None,
) -> None:
    """Error of every power model on a measured sweep, by the number of calibration points."""
    from benchmarks.parts.power import power_rows
    from runtime.cli.output import Results, activity, show

    with activity("power"):
        rows = power_rows(sweep)
    show(Results("power", "measured", rows), json_file)


def power_online(
    sweep: SweepFile,
    orders: int = typer.Option(20, min=1, max=1000, help="Random orders of the readings."),
    seed: int = typer.Option(1, min=0, help="Seed of the orders."),
    json_file: JsonFile = None,
) -> None:
    """Error of the power model that learns as it runs, by the number of readings so far."""
    from benchmarks.parts.power_online import online_power_rows
    from runtime.cli.output import Results, activity, show

    with activity("power-online"):
        rows = online_power_rows(sweep, orders, seed)
    show(Results("power-online", "measured", rows), json_file)


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
