"""`foresight tune`: weights, horizon, step and limits for one's own trace, found in simulation."""

import re
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from runtime.cli.parameters import JsonFile, Overrides, Processes, RateColumn, writable

if TYPE_CHECKING:
    from mpc.simulation.pool import WorkerPool
    from runtime.config import Config
    from runtime.tuning.jobs import Task
    from runtime.tuning.outcome import TuningOutcome
    from runtime.tuning.spark_runner import SparkRunner


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(tune)


def _seconds(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(ms|s)", text.strip())
    if found is None or float(found[1]) <= 0:
        raise typer.BadParameter(f"{text!r} is no latency; write 800ms or 5s.")
    return float(found[1]) * (1e-3 if found[2] == "ms" else 1.0)


def _share(text: str | None) -> float | None:
    if text is None:
        return None
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)\s*(%?)", text.strip())
    share = float(found[1]) / (100.0 if found[2] else 1.0) if found else -1.0
    if not 0 <= share <= 1:
        raise typer.BadParameter(f"{text!r} is no share; write 1% or 0.01.")
    return share


def tune(
    rates: Path | None = typer.Option(
        None,
        metavar="FILE",
        exists=True,
        help="Arrival rates, one a line, plain or gzipped; or ticks, a parquet file or a "
        "folder of them.",
    ),
    journal: Path | None = typer.Option(
        None,
        "--from",
        metavar="JOURNAL",
        exists=True,
        help="Folder of a journal whose measured arrivals are used in place of --rates.",
    ),
    target_latency: str | None = typer.Option(
        None,
        metavar="TIME",
        help="Target of the latency, such as 5s or 800ms.",
        show_default="slo.latency_ms",
    ),
    max_violations: str | None = typer.Option(
        None,
        metavar="SHARE",
        help="Share of violations to accept for less energy, such as 1%.",
        show_default="as many as now",
    ),
    power_cap_w: float | None = typer.Option(
        None, "--power-cap", min=0.001, help="Largest power in watts; needs power.full_power_w."
    ),
    output: str | None = typer.Option(
        None,
        "-o",
        "--output",
        metavar="FILE",
        callback=writable,
        help="Write the recommended configuration to this TOML file.",
    ),
    check: bool = typer.Option(
        False, "--check", help="Tune on the first half of the trace and compare on the second."
    ),
    rate_column: RateColumn = None,
    bin_s: float = typer.Option(1.0, "--bin", min=0.001, help="Seconds from one rate to the next."),
    peak_load: float | None = typer.Option(
        None,
        min=0.01,
        max=2.0,
        help="Share of the cluster that the busiest minute takes.",
        show_default="0.9, or as journaled",
    ),
    candidates: int = typer.Option(
        24, min=4, max=10_000, help="Number of configurations in the first round of the search."
    ),
    block_s: float = typer.Option(
        900.0, "--block", min=60, help="Seconds of each stretch of the trace that is simulated."
    ),
    state_file: str | None = typer.Option(
        None,
        "--state",
        metavar="FILE",
        callback=writable,
        help="File of finished simulations, from which an interrupted tuning is resumed.",
    ),
    master: str | None = typer.Option(
        None,
        metavar="URL",
        help="Spark cluster that runs the simulations.",
        show_default="local processes",
    ),
    processes: Processes = None,
    seed: int = typer.Option(1, min=0, help="Seed of the search and the simulations."),
    config_file: Path | None = typer.Option(
        None, "--config", metavar="FILE", help="Present configuration.", show_default="the defaults"
    ),
    overrides: Overrides = None,
    json_file: JsonFile = None,
) -> None:
    """Find weights, horizon, step and limits in simulation, on your own trace of arrival rates.

    Shows what trades violations, energy and reconfigurations best, and recommends a configuration
    only if it is at least as good as the present one in every part of the trace.
    """
    from mpc.policies.catalogue import find_policy
    from runtime.cli.output import Results, progress_bar, results_console, write_json
    from runtime.cli.tune_report import recommendation, tune_rows, tune_table, tuned_file, verdict
    from runtime.config import ConfigError, load_config
    from runtime.tuning.choice import Aim
    from runtime.tuning.search import SearchPlan
    from runtime.tuning.state import TuningState
    from runtime.tuning.tune import Simulations, check_pieces, checked, tuned

    target_s, aim = _seconds(target_latency), Aim(_share(max_violations))
    wanted = list(overrides or ())
    if target_s is not None:
        wanted.append(f"slo.latency_ms={target_s * 1e3!r}")
    if power_cap_w is not None:
        wanted.append(f"limits.power_cap_w={power_cap_w!r}")
    config = load_config(config_file, wanted)
    if not find_policy(config.policy).sections:
        must = "must be foresight, whose weights, horizon and limits are tuned"
        raise ConfigError.of_value(str(config_file or "--set"), ("policy",), config.policy, must)
    task = _task(rates, journal, rate_column, bin_s, config, peak_load, seed)
    plan = SearchPlan(candidates=candidates, block_s=block_s)
    end_s = task.trace.duration_s / (2.0 if check else 1.0)
    count = plan.evaluations()
    if check:
        count += 2 * len(check_pieces(task.trace.duration_s, end_s))
    state = TuningState(Path(state_file) if state_file else None, task.fingerprint)
    unseen: list[TuningOutcome] = []
    with _runner(master, processes) as runner, progress_bar("tune", count) as finish:
        simulations = Simulations(task, runner, state, finish)
        tuning = tuned(simulations, end_s, plan, aim)
        recommended = tuning.choice.recommended
        if check and recommended is not None:
            both = [tuning.present.knobs, recommended.knobs]
            unseen = checked(simulations, end_s, both)
    rows = tune_rows(tuning, unseen)
    console = results_console(json_file)
    console.print(tune_table(rows, f"{task.trace.source} (simulation)"))
    for line in recommendation(tuning):
        console.print(line)
    if unseen:
        console.print(verdict(*unseen))
    if json_file is not None:
        write_json(Results("tune", "simulation", rows), json_file)
    if output is not None and recommended is not None:
        Path(output).write_text(tuned_file(task, tuning, recommended), encoding="utf-8")
        print(f"wrote {output}", file=sys.stderr)


def _task(
    rates: Path | None,
    journal: Path | None,
    rate_column: str | None,
    bin_s: float,
    config: "Config",
    peak_load: float | None,
    seed: int,
) -> "Task":
    from mpc.simulation.spark_cluster import PEAK_LOAD
    from runtime.build import live_power, simulated_space
    from runtime.insight.journals import recorded_run
    from runtime.tuning.cluster import fitted_to, sized_for
    from runtime.tuning.jobs import Task
    from runtime.tuning.trace import journaled_trace, read_trace

    live_power(
        config, simulated_space(config)
    )  # a limit in watts without full_power_w is refused at once
    if rates is not None and journal is None:
        trace = read_trace(rates, rate_column, bin_s)
        return Task(trace, config, sized_for(trace, config, peak_load or PEAK_LOAD), seed)
    if journal is None or rates is not None:
        raise typer.BadParameter("give either --rates or --from.")
    run = recorded_run(journal)
    trace = journaled_trace(run.records, str(run.folder))
    sized = sized_for(trace, config, peak_load or PEAK_LOAD)
    fitted = fitted_to(run.records, sized)
    if peak_load is not None:
        fitted = replace(fitted, row_cycles=sized.row_cycles)
    return Task(trace, config, fitted, seed)


def _runner(master: str | None, processes: int | None) -> "WorkerPool | SparkRunner":
    from mpc.simulation.pool import WorkerPool

    if master is None:
        return WorkerPool(processes)
    from runtime.tuning.spark_runner import SparkRunner

    return SparkRunner(master)
