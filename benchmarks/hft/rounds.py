"""Several rounds of the same policies: every run is reported, and how far apart they are.

One run on a shared machine says little: in one of them a policy that changed nothing was late in 48
steps and its equal in 3. Pure.
"""

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np

from benchmarks.results import Row, Run

REFERENCE_POLICY = "peak"


@dataclass(frozen=True, slots=True)
class HftRound(Row):
    """One run of one round. Names are part of the JSON contract."""

    round: int
    missed_steps: int
    """That should have been measured and were not: the loop was late or the step before it long."""

    @classmethod
    def of_run(cls, run: Run, number: int, steps: int) -> "HftRound":
        """`steps`: as many as there should have been."""
        missed = max(steps - run.row.steps, 0)
        return cls(**asdict(run.row), round=number, missed_steps=missed)


@dataclass(frozen=True, slots=True)
class RoundSpread:
    """One policy over all rounds: lowest, median and highest."""

    policy: str
    runs: int
    late_steps: str
    missed_steps: str
    energy_j: str
    energy_against_peak: str
    """Relative to `peak` of the same round; empty without it."""
    executor_changes: str
    frequency_changes: str
    decision_ms_p50: str
    decision_ms_p99: str


def order_of(policies: Sequence[str], number: int) -> tuple[str, ...]:
    """Of round `number`, from 1: turned round every time, so that none is always the first on a
    machine that warms up or fills up."""
    return tuple(policies if number % 2 else reversed(policies))


def spreads(rows: Sequence[HftRound]) -> list[RoundSpread]:
    """One line a policy, in the order in which they first ran."""
    peak_j = {row.round: row.energy_j for row in rows if row.policy == REFERENCE_POLICY}
    found = []
    for policy in dict.fromkeys(row.policy for row in rows):
        own = [row for row in rows if row.policy == policy]
        against = [row.energy_j / peak_j[row.round] - 1 for row in own if row.round in peak_j]
        found.append(
            RoundSpread(
                policy,
                len(own),
                _spread([row.violations for row in own], "{:.0f}"),
                _spread([row.missed_steps for row in own], "{:.0f}"),
                _spread([row.energy_j for row in own], "{:,.0f}"),
                _spread(against, "{:+.1%}"),
                _spread([row.executor_changes for row in own], "{:.0f}"),
                _spread([row.frequency_changes for row in own], "{:.0f}"),
                _spread([row.decision_ms_p50 for row in own], "{:.1f}"),
                _spread([row.decision_ms_p99 for row in own], "{:.1f}"),
            )
        )
    return found


def _spread(values: Sequence[float], form: str) -> str:
    known = [value for value in values if math.isfinite(value)]
    if not known:
        return ""
    edges = dict.fromkeys(form.format(each) for each in (min(known), np.median(known), max(known)))
    return " / ".join(edges)
