"""`foresight bench overhead | pipeline | quotes`: what the control loop and the stages cost."""

from dataclasses import asdict
from typing import TYPE_CHECKING

import typer

from runtime.cli.parameters import JsonFile

if TYPE_CHECKING:
    from benchmarks.hft.measure.overhead import Overhead


def add_to(app: typer.Typer) -> None:
    """Register the commands of this file."""
    app.command()(overhead)
    app.command()(pipeline)
    app.command()(quotes)


def overhead(
    pairs: int = typer.Option(20, min=2, max=1000, help="Number of pairs of legs."),
    leg_s: float = typer.Option(8.0, "--leg", min=5, max=60, help="Seconds of each leg."),
    seed: int = typer.Option(1, min=0, help="Seed of the order of the legs."),
    json_file: JsonFile = None,
) -> None:
    """Throughput of the trading pipeline that the control loop costs, in pairs of legs.

    One query on a Spark cluster of this machine, as fast as it can; a controller that only advises
    is attached in one leg of every pair. Eight minutes; what else runs blurs the result.
    """
    from benchmarks.hft.measure.overhead import measure_overhead
    from runtime.cli.documents import write_document
    from runtime.cli.output import Results, activity, results_console, table

    require_spark()
    with activity("overhead") as begin:
        found = measure_overhead(pairs, leg_s, seed, begin)
    console = results_console(json_file)
    console.print(table(Results("overhead", "spark", found.pairs)))
    console.print(sentence(found))
    if json_file is not None:
        write_document({"scenario": "overhead", "backend": "spark", **asdict(found)}, json_file)


def sentence(found: "Overhead") -> str:
    """The result in words."""
    return (
        f"loss of throughput {found.loss_fraction:.2%} "
        f"({found.loss_low:.2%} to {found.loss_high:.2%}), "
        f"more CPU time for the same quotes {found.cpu_fraction:.2%} "
        f"({found.cpu_low:.2%} to {found.cpu_high:.2%}), "
        f"loop and agents {found.loop_cores:.3f} cores; "
        f"medians of {len(found.pairs)} pairs with 95 % intervals"
    )


def pipeline(json_file: JsonFile = None) -> None:
    """Quotes/s of the trading pipeline on two cores, and the seconds each stage takes.

    Seconds are for a million quotes. Starts a Spark cluster of this machine; some four minutes.
    """
    from benchmarks.hft.measure.throughput import stage_rows
    from runtime.cli.output import Results, activity, show

    require_spark()
    with activity("pipeline") as begin:
        rows = stage_rows(begin)
    show(Results("pipeline", "spark", rows), json_file)


def quotes(json_file: JsonFile = None) -> None:
    """Quotes/s that the source of the trading pipeline alone delivers to Spark."""
    from benchmarks.hft.measure.source_rate import source_rows
    from runtime.cli.output import Results, activity, show

    require_spark()
    with activity("quotes") as begin:
        rows = source_rows(begin)
    show(Results("quotes", "spark", rows), json_file)


def require_spark() -> None:
    """Refuse at once on a machine that cannot start a Spark cluster."""
    from runtime.spark.launching.local_cluster import why_unavailable

    missing = why_unavailable()
    if missing is not None:
        raise OSError(missing)
