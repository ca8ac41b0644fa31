"""`foresight explain`: why one decision was made, from the journal."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from runtime.cli.parameters import JsonFile

if TYPE_CHECKING:
    from rich.console import Console

    from mpc.values import Configuration
    from runtime.insight.explain import Explanation
    from runtime.insight.journals import RecordedRun

JournalFolder = Annotated[
    Path,
    typer.Argument(
        metavar="JOURNAL",
        help="Folder of one application's journal, or the folder above if there is only one.",
    ),
]


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(explain)


def explain(
    journal: JournalFolder,
    step: int | None = typer.Option(
        None, min=0, metavar="N", help="The decision of this step.", show_default="last"
    ),
    at: str | None = typer.Option(
        None,
        metavar="TIME",
        help="The decision in force at this time: 17:03, 17:03:10, 2026-11-16T17:03, or "
        "seconds since 1970.",
    ),
    with_judge: bool = typer.Option(
        False,
        "--judge",
        help="Replay the journal up to this decision and solve its problem with a mixed-integer "
        "program, beside the plan. May take minutes.",
    ),
    json_file: JsonFile = None,
) -> None:
    """Why a decision was made: measured, expected, weighed, limited, asked for, and what came."""
    from runtime.cli.documents import write_document
    from runtime.cli.output import results_console
    from runtime.insight.explain import explanation
    from runtime.insight.journals import record_at, record_of_step, recorded_run

    if step is not None and at is not None:
        raise typer.BadParameter("give --step or --at, not both.")
    run = recorded_run(journal)
    records = run.records
    position = record_of_step(records, step) if at is None else record_at(records, at)
    found = explanation(records, position, run.start(records[position]))
    console = results_console(json_file)
    console.print(run.about, markup=False, style="dim")
    _print(found, console)
    if with_judge:
        _judge(run, position, console)
    if json_file is not None:
        write_document(found, json_file)


def _print(found: "Explanation", console: "Console") -> None:
    from runtime.report.text import moment, seconds
    from runtime.report.words import place

    mode = ", only advised" if found.mode == "advise" else ""
    console.print(
        f"\nStep {found.step:,} at {moment(found.at_s)}{mode}", markup=False, style="bold"
    )
    console.print(found.why, markup=False)
    _section(console, "Measured", _measured(found))
    _section(console, "Expected", _expected(found))
    if found.weighed:
        _weighed(found, console)
    else:
        _section(console, "Weighed", ["this policy plans nothing, so it has no costs to compare"])
    _section(console, "Limits", found.limits or ["none was reached"])
    lines = [f"plan      {_trajectory(found.plan)}"] if found.plan else []
    lines += [
        f"wanted    {place(found.wanted)}",
        f"requested {place(found.requested)}",
        f"observed  {place(found.observed)}",
    ]
    if found.observed_later is not None:
        later = "1 step later" if found.later_steps == 1 else f"{found.later_steps} steps later"
        lines.append(f"          {place(found.observed_later)} {later}")
    if found.power_basis is not None:
        lines.append(f"power of the plan: {found.power_basis}")
    if found.took_s is not None:
        lines.append(f"decided and applied in {seconds(found.took_s)}")
    _section(console, "Plan, request and outcome", lines)
    if found.events:
        _section(console, "Events", found.events)


def _judge(run: "RecordedRun", position: int, console: "Console") -> None:
    from runtime.cli.output import activity
    from runtime.insight.judgement import NotJudged, judged

    try:
        with activity("judge") as begin:
            found = judged(run, position, begin)
    except NotJudged as reason:
        _section(console, "Judge", [str(reason)])
        return
    lines = [
        f"plan    costs {found.plan_cost.total:.6g}: {_trajectory(found.plan)}",
        f"optimum costs {found.optimum_cost.total:.6g}: {_trajectory(found.optimum)}",
        found.words,
    ]
    _section(console, "Judge (mixed-integer program, HiGHS)", lines)


def _section(console: "Console", title: str, lines: "list[str] | tuple[str, ...]") -> None:
    console.print(f"\n{title}", markup=False, style="bold")
    for line in lines:
        console.print(f"  {line}", markup=False)


def _measured(found: "Explanation") -> list[str]:
    from runtime.report.text import number, seconds
    from runtime.report.words import place

    measured = found.measured
    lines = [f"ran on {place(measured.observed)} (asked for: {place(measured.requested)})"]
    if measured.arrivals_per_s is None:
        lines.append("no fresh measurement of the arrivals")
    else:
        words = f"{number(measured.arrivals_per_s)} items/s arrived"
        if measured.arrivals_age_s > 0:
            words += f" {seconds(measured.arrivals_age_s)} before"
        if measured.arrivals_origin is not None:
            words += f" (told by the {measured.arrivals_origin})"
        if measured.completions_per_s is not None:
            words += f", {number(measured.completions_per_s)} items/s were finished"
        if measured.backlog_items is not None:
            words += f", {number(measured.backlog_items)} items waited"
        lines.append(words)
    if measured.latency_s is not None:
        from mpc.objective import breaks_objective

        words = f"latency {seconds(measured.latency_s)}"
        if measured.latency_kind is not None:
            words += f" ({measured.latency_kind})"
        target_s = found.target_latency_s
        if target_s is not None:
            broken = breaks_objective(measured, target_s, found.late_quantile)
            words += f", {'above' if broken else 'within'} the target of {seconds(target_s)}"
        lines.append(words)
    if measured.batches:
        rows = sum(batch.rows for batch in measured.batches)
        longest_s = max(batch.duration_s for batch in measured.batches)
        count = len(measured.batches)
        plural = "batch" if count == 1 else "batches"
        lines.append(f"{count} {plural} with {rows:,} rows, the longest took {seconds(longest_s)}")
    if measured.power_w is not None:
        lines.append(f"power {number(measured.power_w)} W ({measured.power_source})")
    return lines


def _expected(found: "Explanation") -> list[str]:
    from runtime.report.text import number

    lines = []
    arrived = found.measured.arrivals_per_s
    if found.expected_before_per_s is not None and arrived is not None:
        lines.append(
            f"one step before, {number(found.expected_before_per_s)} items/s were expected, "
            f"{number(arrived)} came"
        )
    if found.forecast_by:
        lines.append(f"carried by {found.forecast_by}")
    for each in found.expected:
        words = f"in {each.steps_ahead} steps" if each.steps_ahead > 1 else "in 1 step"
        words += f" {number(each.expected_per_s)} items/s"
        if each.arrived_per_s is not None:
            words += f"; {number(each.arrived_per_s)} came"
        if each.error is not None:
            words += f" ({each.error:+.0%})"
        lines.append(words)
    return lines or ["nothing: there is no forecast"]


def _weighed(found: "Explanation", console: "Console") -> None:
    from rich.table import Table

    console.print("\nWeighed: cost over the horizon", markup=False, style="bold")
    grid = Table(box=None, pad_edge=True)
    for name in ("executors", "GHz", "latency", "resource", "switching", "total"):
        grid.add_column(name, justify="right")
    grid.add_column("why", overflow="fold")
    for each in found.weighed:
        cost = each.cost
        figures = (
            ("-",) * 4
            if cost is None
            else tuple(
                f"{value:.4g}"
                for value in (cost.latency, cost.resource, cost.switching, cost.total)
            )
        )
        reason = f"chosen: {each.reason}" if each.chosen else each.reason
        place = each.configuration
        grid.add_row(
            str(place.executors),
            f"{place.frequency_khz / 1e6:.3g}",
            *figures,
            reason,
            style="bold" if each.chosen else None,
        )
    console.print(grid)


def _trajectory(plan: "tuple[Configuration, ...]") -> str:
    """`4 x 1.8 GHz for 3 steps, then 3 x 1.8 GHz`."""
    from itertools import groupby

    parts = []
    for configuration, same in groupby(plan):
        count = len(list(same))
        words = f"{configuration.executors} x {configuration.frequency_khz / 1e6:.3g} GHz"
        parts.append(f"{words} for {count} steps" if count > 1 else f"{words} for 1 step")
    return ", then ".join(parts)
