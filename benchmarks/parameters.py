"""Command-line parameters that several benchmarks share.

Imported to show the help of every command, so nothing heavy may be imported here.
"""

from pathlib import Path
from typing import Annotated

import typer

DataFolder = Annotated[
    Path | None,
    typer.Option(
        metavar="DIR",
        exists=True,
        file_okay=False,
        help="Folder with the papers' and market data. Without it: FORESIGHT_DATA, or "
        "../shared/data beside a checkout, or generated workloads with the same statistics.",
    ),
]

FirstSeed = Annotated[
    int, typer.Option(min=0, help="Seed of the first repetition; each of the others adds 1.")
]

MaxSteps = Annotated[
    int,
    typer.Option(
        min=2,
        help="Most control steps; a longer rate file is averaged down, that is played faster.",
    ),
]

PeakLoad = Annotated[
    float,
    typer.Option(
        min=0.01,
        max=2.0,
        help="Share of the full capacity that the busiest step of the load takes.",
    ),
]

RatesFile = Annotated[
    Path,
    typer.Option(
        "--rates",
        metavar="FILE",
        exists=True,
        dir_okay=False,
        help="File of arrival rates, one line per step; plain or gzipped.",
    ),
]

Repeat = Annotated[
    int, typer.Option(min=1, help="Number of repetitions, each with a seed of its own.")
]
