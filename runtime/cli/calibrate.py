"""`foresight calibrate`: the power model of a host, measured through its agent."""

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import typer

from runtime.cli.parameters import JsonFile, writable

if TYPE_CHECKING:
    from runtime.agent.wire.client import AgentClient


@dataclass(frozen=True, slots=True)
class PointRow:
    """One measured point. Names are part of the JSON contract."""

    busy_cores: float
    frequency_khz: int
    measured_w: float
    modelled_w: float
    error: float
    """(modelled - measured) / measured."""


def add_to(app: typer.Typer) -> None:
    """Register the command of this file."""
    app.command()(calibrate)


def calibrate(
    agent: Path | None = typer.Option(
        None, metavar="SOCKET", help="UNIX socket of the agent on this host."
    ),
    emulate: bool = typer.Option(False, "--emulate", help="Try it on an emulated host instead."),
    hostname: str | None = typer.Option(
        None,
        metavar="NAME",
        help="Name under which the agent looks for executors; else the host's.",
    ),
    measure_s: float = typer.Option(
        12.0, "--seconds", min=1, max=600, help="Measured at each point."
    ),
    settle_s: float = typer.Option(3.0, "--settle", min=0, max=60, help="Left out before it."),
    points: int = typer.Option(9, min=5, max=100, help="Loads and frequencies."),
    executors: int | None = typer.Option(
        None, min=1, help="Most busy processes; one a CPU without it."
    ),
    hosts: int = typer.Option(1, min=1, help="Equal hosts of the cluster."),
    executor_cores: int = typer.Option(1, min=1, help="Cores of an executor."),
    output: str | None = typer.Option(
        None, "-o", "--output", metavar="FILE", callback=writable, help="TOML to write."
    ),
    json_file: JsonFile = None,
) -> None:
    """Measure what a host draws over load and frequency, and write the power model with its error.

    The host should be otherwise idle. Its frequencies are given back in the end.
    """
    from runtime.calibration.load import BusyExecutors
    from runtime.calibration.result import fitted, power_toml
    from runtime.calibration.sweep import CannotCalibrate, SweepPlan, swept
    from runtime.cli.output import Results, progress_bar, show

    if (agent is None) != emulate:
        raise typer.BadParameter("give either --agent or --emulate.")
    plan = SweepPlan(settle_s, measure_s, points, executors)
    try:
        with _client(agent) as (client, name), BusyExecutors(hostname or name) as load:
            with progress_bar("calibrate", points) as finish:
                sweep = swept(client, load, plan, lambda _point: finish())
            result = fitted(sweep)
    except CannotCalibrate as error:
        raise ValueError(str(error)) from error
    rows = [
        PointRow(
            point.executors,
            point.frequency_khz,
            point.power_w,
            modelled := float(result.model.power_w(point.executors, point.frequency_khz)),
            modelled / point.power_w - 1.0,
        )
        for point in sweep.points
    ]
    show(Results(f"calibrate {sweep.host}", sweep.source, rows), json_file)
    text = power_toml(result, hosts, executor_cores)
    if output is None:
        print(text, end="", file=sys.stderr if json_file == "-" else sys.stdout)
    else:
        Path(output).write_text(text, encoding="utf-8")
        print(f"wrote {output}", file=sys.stderr)


@contextmanager
def _client(socket: Path | None) -> "Iterator[tuple[AgentClient, str]]":
    """The agent, and the name under which it looks for executors."""
    from runtime.agent.wire.client import AgentClient
    from runtime.fleet.local import LocalHosts

    if socket is not None:
        with AgentClient.local(socket) as client:
            yield client, client.hello().host
        return
    name = f"emulated-{os.getpid()}"
    # A quarter of a core for each emulated CPU, so that others may work on this machine, too.
    cpus = os.cpu_count() or 1
    with LocalHosts([name], cpus=cpus, cores_share=0.25) as local, local.agents[name]() as client:
        yield client, name
