"""`foresight bench hft | calibrate-plant`: the trading pipeline on a real Spark cluster."""

import dataclasses
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import typer

from benchmarks.hft.measure.commands import require_spark
from runtime.cli.parameters import STANDARD_OUTPUT, JsonFile, Overrides, ReportFile

if TYPE_CHECKING:
    from benchmarks.hft.setting import EmulatedHosts, GivenCluster, HftSetting
    from benchmarks.hft.stream.replay import Replay


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command()(hft)
    app.command()(calibrate_plant)


def hft(
    policies: str = typer.Option(
        "foresight,peak,spark-ratio",
        metavar="A,B,...",
        help="Policies to run on the cluster, one after the other.",
    ),
    duration_s: float = typer.Option(
        180.0, "--duration", min=10, max=86_400, help="Seconds that each policy is measured for."
    ),
    latency_ms: float | None = typer.Option(
        None, min=1, help="Target of the latency in ms.", show_default="30000"
    ),
    quotes_file: Path | None = typer.Option(
        None,
        "--quotes",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Recorded quotes, parquet or CSV, instead of generated ones.",
    ),
    rate: Literal["wave", "constant", "random-walk", "trading-day", "recorded"] = typer.Option(
        "wave", help="Shape of the load; `recorded` needs --quotes."
    ),
    acceleration: float = typer.Option(
        1.0, min=0.001, help="Speed at which the rates are played; 2 is twice as fast."
    ),
    peak: float | None = typer.Option(
        None,
        min=1,
        help="Quotes/s at the busiest moment; without it, what emulated hosts of this machine "
        "serve in little more than half a trigger interval.",
    ),
    trough: float | None = typer.Option(None, min=0, help="Quotes/s at the bottom of a wave."),
    period_s: float | None = typer.Option(
        None, "--period", min=1, help="Seconds from wave to wave."
    ),
    placement: Literal["balanced", "flux", "hash"] = typer.Option(
        "balanced", help="How the fits are placed on the executors."
    ),
    master: str | None = typer.Option(
        None,
        metavar="URL",
        help="A running standalone cluster (spark://...), instead of emulated hosts.",
    ),
    agents: list[str] | None = typer.Option(
        None,
        "--agent",
        metavar="HOST=ADDRESS",
        help="Agent of a host of the --master cluster (repeatable), as in agents.urls.",
    ),
    executors: int | None = typer.Option(
        None, min=1, help="Most executors to use on the --master cluster."
    ),
    warm_up_s: float | None = typer.Option(
        None, "--warm-up", min=20, help="Seconds that a policy runs before it is measured."
    ),
    seed: int = typer.Option(1, min=0, help="Seed of the generated quotes."),
    repeat: int = typer.Option(
        1, min=1, max=1_000, help="Rounds in which every policy runs once, in alternating order."
    ),
    simulate: bool = typer.Option(
        False,
        "--simulate",
        help="Run the same controller on a simulated twin of the emulated hosts, in seconds.",
    ),
    arrivals: Literal["source", "batch"] = typer.Option(
        "source", help="With --simulate: who tells the controller what has arrived."
    ),
    json_file: JsonFile = None,
    report: ReportFile = None,
    overrides: Overrides = None,
) -> None:
    """Policies one after the other on a Spark cluster: the trading pipeline on replayed quotes.

    Without --master it starts its own on this machine: agents with emulated hosts, a Master,
    Workers, and a driver for each policy; under seven minutes a policy and round. Latency is that
    of the predictions; energy is emulated on emulated hosts, and measured where the agents measure
    it. With --simulate nothing is started, and everything is simulated.
    """
    from benchmarks.hft.live_view import live_view
    from benchmarks.hft.rounds import HftRound, spreads
    from benchmarks.hft.setting import HftSetting
    from benchmarks.report import write_report
    from runtime.cli.output import Results, progress_bar, results_console, show, table, write_json

    if simulate and (master is not None or rate == "recorded"):
        raise typer.BadParameter("--simulate has emulated hosts and generated quotes alone.")
    if not simulate:
        require_spark()
    if rate == "recorded" and quotes_file is None:
        raise typer.BadParameter("--rate recorded needs --quotes.")
    default = HftSetting()
    setting = HftSetting(
        cluster=_cluster(master, agents or [], executors),
        warm_up_s=default.warm_up_s if warm_up_s is None else warm_up_s,
        duration_s=duration_s,
        target_s=default.target_s if latency_ms is None else latency_ms / 1e3,
        placement=placement,
        seed=seed,
        overrides=tuple(overrides or ()),
    )
    wave = setting.replay
    if peak is None and master is None and rate != "recorded" and not simulate:
        wave = _wave_of_this_machine(setting)
    replay = _replay(wave, quotes_file, rate, acceleration, peak, trough, period_s)
    setting = dataclasses.replace(setting, replay=replay)
    names = policies.split(",")
    results = Results("hft", "simulation" if simulate else "spark", rows := list[HftRound]())

    def keep(row: HftRound) -> None:
        rows.append(row)
        # What was measured for hours is not lost with the run that fails.
        if json_file not in (None, STANDARD_OUTPUT):
            write_json(results, json_file)

    if simulate:
        from benchmarks.hft.twin import compare_simulated

        with progress_bar("hft, simulated", repeat * len(names)) as finish:

            def count(row: HftRound) -> None:
                keep(row)
                finish()

            comparison = compare_simulated(names, setting, arrivals, repeat, count)
    else:
        from benchmarks.hft.comparison import compare

        with live_view(setting.target_s, setting.replay.peak_per_s) as view:
            comparison = compare(names, setting, view.begin, view.step, repeat, keep)
    print(f"{comparison.source}. {comparison.provenance.sentence}", file=sys.stderr)
    show(results, json_file)
    if repeat > 1:
        spread = Results("hft: lowest / median / highest", results.backend, spreads(rows))
        results_console(json_file).print(table(spread))
    if report is not None:
        write_report(comparison, Path(report))
        print(f"wrote {report}", file=sys.stderr)


def calibrate_plant(
    duration_s: float = typer.Option(
        120.0, "--duration", min=60, max=86_400, help="Measured seconds of each of the two runs."
    ),
    seed: int = typer.Option(1, min=0, help="Seed of the generated quotes."),
    json_file: JsonFile = None,
    overrides: Overrides = None,
) -> None:
    """Calibrate the simulator's Spark-like plant from a run of the trading pipeline.

    One run on emulated hosts visits configurations and gives the traits of the plant; a second,
    under foresight, is predicted with them: mean batch duration and mean latency, with the errors.
    """
    from benchmarks.hft.calibration.run import calibrate, calibration_rows
    from benchmarks.hft.live_view import live_view
    from benchmarks.hft.setting import HftSetting
    from runtime.cli.output import Results, show

    require_spark()
    setting = HftSetting(duration_s=duration_s, seed=seed, overrides=tuple(overrides or ()))
    setting = dataclasses.replace(setting, replay=_wave_of_this_machine(setting))
    with live_view(setting.target_s, setting.replay.peak_per_s) as view:
        found = calibrate(setting, view.begin, view.step)
    show(Results("calibrate-plant", "spark", calibration_rows(found)), json_file)


def _cluster(
    master: str | None, agents: list[str], executors: int | None
) -> "EmulatedHosts | GivenCluster":
    from benchmarks.hft.setting import EmulatedHosts, GivenCluster

    if master is None:
        if agents or executors is not None:
            raise typer.BadParameter(
                "--agent and --executors belong to a cluster given by --master."
            )
        return EmulatedHosts()
    if executors is None:
        raise typer.BadParameter("--master needs --executors, the most that may be used.")
    return GivenCluster(master, tuple(agents), executors)


def _wave_of_this_machine(setting: "HftSetting") -> "Replay":
    from benchmarks.hft.demo_load import machine_speed, scaled_wave
    from runtime.cli.output import activity

    with activity("hft") as begin:
        begin("how fast this machine is")
        speed = machine_speed()
    wave = scaled_wave(speed, setting.cluster.executors, setting.trigger_interval_s)
    print(
        f"This machine does {speed:.2f} of the work a second that the demo was made for: its wave "
        f"goes up to {wave.peak_per_s:,.0f} quotes/s.",
        file=sys.stderr,
    )
    return wave


def _replay(
    wave: "Replay",
    path: Path | None,
    rate: str,
    acceleration: float,
    peak: float | None,
    trough: float | None,
    period_s: float | None,
) -> "Replay":
    """The wave with what was given otherwise; its trough is as deep under another peak."""
    import msgspec

    depth = (wave.trough_per_s or 0.0) / wave.peak_per_s
    peak_per_s = wave.peak_per_s if peak is None else peak
    given = {
        "path": None if path is None else str(path.absolute()),
        "symbols": wave.symbols if path is None else None,
        "rate": rate,
        "acceleration": acceleration,
        "peak_per_s": peak_per_s,
        "trough_per_s": depth * peak_per_s if trough is None else trough,
        "period_s": wave.period_s if period_s is None else period_s,
    }
    return msgspec.structs.replace(wave, **given)
