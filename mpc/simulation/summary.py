"""What a run was like: violations, energy and changes, counted in one way for every kind of run.

Takes plain sequences with one value a step, whether they were simulated, measured or estimated.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from mpc.values import Configuration


@dataclass(frozen=True, slots=True)
class Changes:
    """How often and how far a sequence of configurations moved."""

    reconfigurations: int
    executor_changes: int
    frequency_changes: int
    amplitude: float
    """Mean distance of a reconfiguration; 0 without one."""


@dataclass(frozen=True, slots=True)
class RunFigures:
    steps: int
    judged_steps: int
    """Those with a latency."""
    violations: int
    changes: Changes
    mean_executors: float
    mean_frequency_khz: float
    mean_power_w: float | None
    """None where no power is known, as below."""
    energy_j: float | None


def summarise(
    *,
    latencies_s: Sequence[float | None],
    powers_w: Sequence[float | None],
    observed: Sequence[Configuration],
    requested: Sequence[Configuration],
    step_s: float,
    target_s: float,
    broken: Sequence[bool] | None = None,
) -> RunFigures:
    """Figures of a run of at least one step.

    A latency of None is not judged. A step that owes results and has none comes with what its
    oldest item has waited, or with infinity. A step without a power takes the mean of the others.
    `requested` may leave out steps whose changes do not count. `broken` says in which steps another
    objective than the latency was broken.
    """
    judged_s = [value for value in latencies_s if value is not None]
    known_w = [value for value in powers_w if value is not None]
    mean_w = float(np.mean(known_w)) if known_w else None
    return RunFigures(
        steps=len(observed),
        judged_steps=len(judged_s),
        violations=sum(value > target_s for value in judged_s) if broken is None else sum(broken),
        changes=changes_in(requested),
        mean_executors=float(np.mean([each.executors for each in observed])),
        mean_frequency_khz=float(np.mean([each.frequency_khz for each in observed])),
        mean_power_w=mean_w,
        energy_j=None if mean_w is None else mean_w * len(observed) * step_s,
    )


def changes_in(configurations: Sequence[Configuration]) -> Changes:
    """From each configuration to the next."""
    moves = [(old, new) for old, new in pairwise(configurations) if old != new]
    return Changes(
        reconfigurations=len(moves),
        executor_changes=sum(old.executors != new.executors for old, new in moves),
        frequency_changes=sum(old.frequency_khz != new.frequency_khz for old, new in moves),
        amplitude=float(np.mean([_distance(*move) for move in moves])) if moves else 0.0,
    )


def _distance(old: Configuration, new: Configuration) -> float:
    """Euclidean, with frequencies in steps of 0.1 GHz (De Matteis and Mencagli 2016, section
    5.3.4)."""
    return math.hypot(
        new.executors - old.executors, (new.frequency_khz - old.frequency_khz) / 100_000
    )
