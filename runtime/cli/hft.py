"""`foresight bench hft | quotes`: the trading pipeline on a real Spark cluster, and its source."""

from typing import Annotated, Any

import typer

from runtime.cli.parameters import JsonFile, Overrides


def add_to(bench_app: typer.Typer) -> None:
    """Register the commands of this file."""
    bench_app.command()(hft)
    bench_app.command()(quotes)


def hft(
    policies: Annotated[
        str,
        typer.Option(
            metavar="NAMES", help="foresight, peak, static-N, rule-based, spark-ratio; with commas."
        ),
    ] = "foresight,peak,spark-ratio",
    duration_s: Annotated[
        float, typer.Option("--duration", min=10, max=86_400, help="Measured seconds a policy.")
    ] = 120.0,
    latency_ms: Annotated[float, typer.Option(min=1, help="Target.")] = 5000.0,
    peak: Annotated[float, typer.Option(min=1, help="Quotes/s at the top of the wave.")] = 4000.0,
    trough: Annotated[float, typer.Option(min=0, help="Quotes/s at its bottom.")] = 500.0,
    json_file: JsonFile = None,
    overrides: Overrides = None,
) -> None:
    """Policies one after the other on a Spark cluster of this machine, with emulated hosts.

    Starts agents, a Master, Workers and a driver for each policy; some minutes a policy. Quotes
    come in waves; latency is that of the predictions. Energy is emulated.
    """
    from benchmarks.hft.comparison import Setting, compare
    from runtime.cli.output import Results, activity, show
    from runtime.spark.cluster import why_unavailable

    missing = why_unavailable()
    if missing is not None:
        raise OSError(missing)
    setting = Setting(
        duration_s=duration_s,
        target_s=latency_ms / 1e3,
        peak_per_s=peak,
        trough_per_s=trough,
        overrides=tuple(overrides or ()),
    )
    with activity("hft") as begin:
        comparison = compare(
            policies.split(","), setting, begin, lambda policy, step: begin(_line(policy, step))
        )
    rows = [run.row for run in comparison.runs]
    show(Results("hft", "spark", rows), json_file)


def quotes(json_file: JsonFile = None) -> None:
    """Quotes/s that the source of the trading pipeline alone delivers to Spark."""
    from benchmarks.hft.source_bench import source_rows
    from runtime.cli.output import Results, activity, show
    from runtime.spark.cluster import why_unavailable

    missing = why_unavailable()
    if missing is not None:
        raise OSError(missing)
    with activity("quotes") as begin:
        rows = source_rows(begin)
    show(Results("quotes", "spark", rows), json_file)


def _line(policy: str, step: dict[str, Any]) -> str:
    def text(value: float | None, form: str) -> str:
        return "-" if value is None else format(value, form)

    return (
        f"{policy}: {text(step['arrivals_per_s'], ',.0f')} quotes/s, "
        f"latency {text(step['latency_s'], '.1f')} s, "
        f"{step['executors'][1]} executors at {step['frequency_khz'][1] / 1e6:.1f} GHz, "
        f"{text(step['power_w'], '.0f')} W emulated"
    )
