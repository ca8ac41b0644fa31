"""`foresight bench peers`: what users run today, and every other policy, on one trace of rates."""

import sys
from pathlib import Path

import typer

from benchmarks.parameters import FirstSeed, MaxSteps, PeakLoad, RatesFile, Repeat
from runtime.cli.parameters import JsonFile, Overrides, Processes, RateColumn, ReportFile

COLUMNS = (
    ("over target", "over_target_fraction", "{:.2%}", 1.0),
    ("executor h", "executor_hours", "{:.1f}", 1.0),
    ("energy kJ", "energy_j", "{:.0f}", 1e-3),
    ("reconfig.", "reconfigurations", "{:.0f}", 1.0),
    ("mean s", "latency_mean_s", "{:.2f}", 1.0),
    ("p95 s", "latency_p95_s", "{:.2f}", 1.0),
    ("p99 s", "latency_p99_s", "{:.2f}", 1.0),
    ("decision ms", "decision_ms_p50", "{:.2f}", 1.0),
)


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(peers)


def peers(
    rates_file: RatesFile,
    rate_column: RateColumn = None,
    policies: str | None = typer.Option(
        None, metavar="A,B,...", help="Policies to compare.", show_default="all"
    ),
    latency_ms: float = typer.Option(5000.0, min=1, help="Target of the latency in ms."),
    step_s: float = typer.Option(5.0, min=1, max=60, help="Seconds of a control step."),
    max_steps: MaxSteps = 4320,
    peak_load: PeakLoad = 0.9,
    idle_share: float = typer.Option(
        0.3, min=0, max=1, help="Power of an idle executor as a share of that of a busy one."
    ),
    repeat: Repeat = 1,
    seed: FirstSeed = 1,
    json_file: JsonFile = None,
    report: ReportFile = None,
    processes: Processes = None,
    config_file: Path | None = typer.Option(
        None, "--config", metavar="FILE", help="Configuration file of the policies."
    ),
    overrides: Overrides = None,
) -> None:
    """Every policy that can run on Spark, on one trace of arrival rates and a simulated cluster.

    Twenty executors, micro-batches every two seconds, executors that take eight seconds to start.
    """
    from benchmarks.peers.catalogue import EXECUTORS_ONLY, all_policies, configured
    from benchmarks.peers.comparison import compare
    from benchmarks.peers.setting import SPACE, PeerSetting
    from benchmarks.peers.verdict import verdict
    from benchmarks.policies import check_policies
    from benchmarks.report import write_report
    from benchmarks.tables import means_table
    from runtime.cli.output import Results, progress_bar, results_console, write_json

    setting = PeerSetting(
        rates_file,
        rate_column,
        target_s=latency_ms / 1e3,
        step_s=step_s,
        max_steps=max_steps,
        peak_load=peak_load,
        idle_share=idle_share,
    )
    names = policies.split(",") if policies else all_policies()
    check_policies(names, SPACE, also=[EXECUTORS_ONLY])
    config = configured(setting, config_file, overrides or ())
    with progress_bar("peers", len(names) * repeat) as finish:
        rows, comparison = compare(
            setting,
            names,
            config,
            repeat=repeat,
            seed=seed,
            processes=processes,
            on_done=finish,
        )
    console = results_console(json_file)
    title = f"peers: {comparison.source} (simulation, target {latency_ms:g} ms)"
    console.print(means_table(title, rows, COLUMNS))
    found = verdict(rows)
    if found is not None:
        console.print(found.sentence)
    if json_file is not None:
        write_json(Results("peers", "simulation", rows), json_file)
    if report is not None:
        write_report(comparison, Path(report))
        print(f"wrote {report}", file=sys.stderr)
