"""`foresight replay`: the recorded measurements once more, or under another configuration."""

from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from runtime.cli.explain import JournalFolder
from runtime.cli.parameters import JsonFile, Overrides

if TYPE_CHECKING:
    from rich.console import Console

    from runtime.control.starts import Start
    from runtime.insight.journals import RecordedRun
    from runtime.insight.whatif import OtherStep, Totals

SHOWN = 20
"""Differences and stretches that are printed; the JSON has them all."""


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(replay)


def replay(
    journal: JournalFolder,
    config_file: Path | None = typer.Option(
        None,
        "--config",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="Another configuration.",
        show_default="the recorded one",
    ),
    overrides: Overrides = None,
    policy: str | None = typer.Option(
        None, metavar="NAME", help="Another policy; short for --set policy=."
    ),
    json_file: JsonFile = None,
) -> None:
    """Recorded measurements once more: the same decisions, or those of another configuration.

    With the recorded configuration the decisions must be exactly the recorded ones; the exit code
    is 1 if they are not. With another one, latency, violations, power and energy are estimated
    from the micro-batch model learned from the journal and the power model.
    """
    from runtime.insight.journals import recorded_run

    run = recorded_run(journal)
    changes = [*(overrides or ()), *([] if policy is None else [f"policy={policy}"])]
    recorded = run.start(run.records[-1])
    if config_file is None and not changes:
        same = _verify(run, json_file)
        raise typer.Exit(0 if same else 1)
    other = _other(run, recorded, config_file, changes)
    if recorded is None or _same(recorded, other):
        # Without a note of it, the given configuration is taken for the recorded one.
        starts = run.starts if recorded is not None else (other,)
        same = _verify(replace(run, starts=starts), json_file)
        raise typer.Exit(0 if same else 1)
    _compare(run, recorded, other, json_file)


def _same(recorded: "Start", other: "Start") -> bool:
    from runtime.control.snapshots import fingerprint

    return fingerprint(recorded.config, recorded.space) == fingerprint(other.config, other.space)


def _verify(run: "RecordedRun", json_file: str | None) -> bool:
    from runtime.cli.documents import write_document
    from runtime.cli.output import progress_bar, results_console
    from runtime.insight.replay import replayed, verdict
    from runtime.report.text import moment

    steps = []
    with progress_bar("replay", len(run.records)) as finish:
        for step in replayed(run):
            steps.append(step)
            finish()
    found = verdict(steps)
    console = results_console(json_file)
    console.print(run.about, markup=False, style="dim")
    console.print(found.words, markup=False)
    for difference in found.differences[:SHOWN]:
        console.print(
            f"  step {difference.step} at {moment(difference.at_s)}: recorded "
            f"{difference.recorded}; replayed {difference.replayed}",
            markup=False,
        )
    left = len(found.differences) - SHOWN
    if left > 0:
        console.print(f"  and {left:,} more", markup=False)
    if json_file is not None:
        write_document(found, json_file)
    return not found.differences


def _other(
    run: "RecordedRun", recorded: "Start | None", config_file: Path | None, changes: list[str]
) -> "Start":
    """The other configuration, on the cluster of the recorded one."""
    from importlib.metadata import version
    from tempfile import NamedTemporaryFile

    from runtime.build import live_space, simulated_space
    from runtime.config import load_config
    from runtime.control.starts import Start, config_toml

    if config_file is None and recorded is not None:
        with NamedTemporaryFile("w", suffix=".toml") as file:
            file.write(config_toml(recorded.config))
            file.flush()
            config = load_config(file.name, changes)
    else:
        config = load_config(config_file, changes)
    hosts = () if recorded is None else recorded.hosts
    if recorded is None:
        space = simulated_space(config)
    else:
        granted = recorded.space.max_executors
        most = granted if granted < recorded.config.executors.max else None
        space = live_space(config, most, hosts)
    return Start(run.records[0].at_s, version("foresight-autoscaler"), False, space, config, hosts)


def _compare(run: "RecordedRun", recorded: "Start", other: "Start", json_file: str | None) -> None:
    from runtime.cli.documents import write_document
    from runtime.cli.output import progress_bar, results_console
    from runtime.insight.whatif import other_run, other_totals, recorded_totals
    from runtime.report.text import seconds

    step_s, other_step_s = recorded.config.horizon.step_s, other.config.horizon.step_s
    if step_s != other_step_s:
        raise ValueError(
            f"the journal has steps of {step_s:g} s and cannot be replayed with steps of "
            f"{other_step_s:g} s"
        )
    steps: list[OtherStep] = []
    with progress_bar("replay", len(run.records)) as finish:
        for step in other_run(run.records, recorded, other):
            steps.append(step)
            finish()
    totals = (
        recorded_totals(run.records, recorded, other),
        other_totals("other", steps, other),
    )
    console = results_console(json_file)
    console.print(run.about, markup=False, style="dim")
    watts = recorded.config.power.in_watts or any(
        record.measurement.power_w is not None for record in run.records
    )
    target = seconds(other.config.slo.latency_s)
    console.print(f"judged by a target of {target}", markup=False)
    _print_totals(console, *totals, watts=watts)
    _print_stretches(console, steps)
    if json_file is not None:
        document = {
            "estimated": "everything of the other configuration",
            "power_unit": "W" if watts else "share of the full power",
            "totals": totals,
            "difference": _difference(*totals),
            "steps": [
                {
                    "step": step.record.measurement.step,
                    "at_s": step.record.at_s,
                    "recorded_target": step.record.target,
                    "other_target": step.decided.target,
                    "other_reason": step.decided.decision.reason,
                    "recorded_latency_s": step.record.measurement.latency_s,
                    "other_latency_s_estimated": step.latency_s,
                    "other_power_estimated": step.power_w,
                }
                for step in steps
            ],
        }
        write_document(document, json_file)


def _difference(recorded: "Totals", other: "Totals") -> dict[str, float]:
    """Other less recorded; estimated."""
    return {
        name: getattr(other, name) - getattr(recorded, name)
        for name in ("violations", "energy", "reconfigurations", "mean_executors")
    }


def _print_totals(console: "Console", recorded: "Totals", other: "Totals", watts: bool) -> None:
    from rich.table import Table

    from runtime.cli.output import cell

    power = "power W" if watts else "power (share of full)"
    energy = "energy J" if watts else "energy (share x s)"
    grid = Table(title="Recorded, and estimated for the other", title_justify="left")
    names = {
        "run": "run",
        "steps": "steps",
        "violations": "violations",
        "mean_latency_s": "mean latency s",
        "energy": energy,
        "mean_power": power,
        "reconfigurations": "reconfigurations",
        "mean_executors": "mean executors",
        "mean_frequency_ghz": "mean GHz",
    }
    for name, title in names.items():
        grid.add_column(title, justify="left" if name == "run" else "right")
    grid.add_row(*(cell(getattr(recorded, name)) for name in names))
    grid.add_row("other (estimated)", *(cell(getattr(other, name)) for name in list(names)[1:]))
    console.print(grid)
    share = other.energy / recorded.energy - 1.0 if recorded.energy > 0 else 0.0
    console.print(
        f"Estimated difference of the other: {other.violations - recorded.violations:+,} "
        f"violations of {other.judged_steps:,} judged steps, "
        f"{share:+.1%} energy, {other.reconfigurations - recorded.reconfigurations:+,} "
        "reconfigurations.",
        markup=False,
    )
    console.print(
        "How: recorded latencies, scaled batch by batch by the micro-batch model learned from the "
        "recorded batches; recorded power, scaled by the power model. Nothing of the other was "
        "measured.",
        markup=False,
        style="dim",
    )


def _print_stretches(console: "Console", steps: "list[OtherStep]") -> None:
    """Steps in a row that were and would have been decided the same."""
    from rich.table import Table

    from runtime.report.text import moment
    from runtime.report.words import place

    differing = sum(step.decided.target != step.record.target for step in steps)
    console.print(f"{differing:,} of {len(steps):,} steps decided otherwise", markup=False)
    grid = Table(box=None)
    for title in ("from step", "steps", "at", "recorded", "other", "why (first step)"):
        grid.add_column(title, justify="right" if title in ("from step", "steps") else "left")
    shown = 0
    for (was, other), same in groupby(
        steps, key=lambda step: (step.record.target, step.decided.target)
    ):
        stretch = list(same)
        if was == other:
            continue
        shown += 1
        if shown <= SHOWN:
            first = stretch[0]
            grid.add_row(
                str(first.record.measurement.step),
                str(len(stretch)),
                moment(first.record.at_s),
                place(was),
                place(other),
                first.decided.decision.reason,
            )
    if shown:
        console.print(grid)
    if shown > SHOWN:
        console.print(f"and {shown - SHOWN:,} more stretches", markup=False)
