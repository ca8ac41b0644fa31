"""Table 1 of Cardellini et al. 2018 beside the same experiments in the simulator."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from pathlib import Path

import numpy as np

from benchmarks.edf.choices import PUBLISHED, EdfChoice, Figures
from benchmarks.edf.experiment import EdfOutcome, EdfSetting, run
from benchmarks.edf.workload import TaxiRates, taxi_rates

FIGURE_NAMES = tuple(field.name for field in fields(Figures))


@dataclass(frozen=True, slots=True)
class EdfTableRow:
    """One combination of policies; names are part of the JSON contract. `ours` is None when the
    query was never undisturbed for long enough to take figures."""

    policy: str
    bucket: bool
    seed: int
    ours: Figures | None
    paper: Figures
    difference: Figures | None
    """Ours less the paper's."""
    unmet_percent: float
    """Moments over the target or without a result, disturbed ones too; not in the paper."""
    reconfigurations: int
    requests: int
    granted: int


@dataclass(frozen=True, slots=True)
class EdfTable:
    source: str
    """Where the workload comes from, in words."""
    rows: tuple[EdfTableRow, ...]


def edf_table(
    data: Path | None,
    seed: int,
    setting: EdfSetting,
    begin: Callable[[str], None],
    choices: Sequence[EdfChoice],
) -> EdfTable:
    """`begin` gets each experiment as it begins."""
    rates = taxi_rates(data, np.random.default_rng(seed))
    rows = []
    for choice in choices:
        begin(f"{choice.label}{', bucket' if choice.bucket else ''}")
        rows.append(_row(choice, rates, seed, setting))
    return EdfTable(rates.source, tuple(rows))


def _row(choice: EdfChoice, rates: TaxiRates, seed: int, setting: EdfSetting) -> EdfTableRow:
    outcome: EdfOutcome = run(choice, rates, seed, setting)
    paper, ours = PUBLISHED[choice], outcome.figures
    difference = None
    if ours is not None:
        difference = Figures(*(getattr(ours, name) - getattr(paper, name) for name in FIGURE_NAMES))
    return EdfTableRow(
        policy=choice.label,
        bucket=choice.bucket,
        seed=seed,
        ours=ours,
        paper=paper,
        difference=difference,
        unmet_percent=outcome.unmet_percent,
        reconfigurations=outcome.reconfigurations,
        requests=outcome.requested,
        granted=outcome.granted,
    )
