"""What the controller remembers of other days, in one small file beside the journal.

A journal is rotated and a snapshot counts only for one version and configuration; days and weeks
must outlive both. A file that is not whole or of another form is passed over: the memory begins
anew and the journal, as far as it reaches back, is learned from again.
"""

from collections.abc import Iterable
from pathlib import Path

import msgspec
import numpy as np

from forecasting.memory import RateMemory
from forecasting.profile import Profile
from mpc.controller import Controller, ControllerState
from mpc.ports import Remembers
from runtime.control.journal import StepRecord
from runtime.files import replace_file

NAME = "memory.json"
EVERY_S = 600.0
"""What is lost with a crash is learned from the journal again."""
_LARGEST_BYTES = 10_000_000


class _ProfileLines(msgspec.Struct, frozen=True):
    period_s: float
    bin_s: float
    newest_share: float
    until_s: float
    since_s: float | None
    means: list[float | None]
    visits: list[int]


class _Contents(msgspec.Struct, frozen=True):
    profiles: list[_ProfileLines]
    edges: list[list[list[float]]]


class MemoryFile:
    def __init__(self, folder: Path) -> None:
        self.path = folder / NAME
        self._written_s: float | None = None

    def read(self) -> RateMemory | None:
        """None where there is no file that can be used."""
        try:
            if self.path.stat().st_size > _LARGEST_BYTES:
                return None
            contents = msgspec.json.decode(self.path.read_bytes(), type=_Contents)
        except (OSError, msgspec.DecodeError, UnicodeDecodeError):
            return None
        return _memory(contents)

    def keep(self, state: ControllerState, at_s: float, *, at_once: bool = False) -> None:
        """Write what the policy remembers, now and then. Raises `OSError`."""
        memory = state.policy.memory if isinstance(state.policy, Remembers) else None
        if memory is None:
            return
        if self._written_s is None and not at_once:
            self._written_s = at_s
        elif at_once or at_s - (self._written_s or 0.0) >= EVERY_S:
            self._written_s = at_s
            replace_file(self.path, msgspec.json.encode(_contents(memory)))


def give_memory(controller: Controller, memory: RateMemory) -> bool:
    """Whether it has been given, to a policy that can use it. A memory of less than a day knows
    nothing that comes round again."""
    policy = controller.state.policy
    if not isinstance(policy, Remembers) or not memory.spans_a_day:
        return False
    policy.memory = memory
    return True


def learned_from(
    records: Iterable[StepRecord], step_s: float, memory: RateMemory | None
) -> RateMemory:
    """With what the journal knows of the time after it."""
    memory = memory or RateMemory()
    for record in records:
        measured = record.measurement
        if measured.arrivals_per_s is None or measured.clock_s is None:
            continue
        end_s = measured.clock_s - measured.arrivals_age_s
        for profile in memory.profiles:
            profile.learn(end_s - step_s, end_s, measured.arrivals_per_s)
    return memory


def _contents(memory: RateMemory) -> _Contents:
    return _Contents(
        profiles=[
            _ProfileLines(
                each.period_s,
                each.bin_s,
                each.newest_share,
                each.until_s,
                each.since_s,
                [None if np.isnan(mean) else float(f"{mean:.6g}") for mean in each.means],
                each.visits.tolist(),
            )
            for each in memory.profiles
        ],
        edges=memory.edges.round(3).tolist(),
    )


def _memory(contents: _Contents) -> RateMemory | None:
    """None for bins that this version does not have."""
    memory = RateMemory()
    if len(contents.profiles) != len(memory.profiles):
        return None
    for own, kept in zip(memory.profiles, contents.profiles, strict=True):
        same = (own.period_s, own.bin_s) == (kept.period_s, kept.bin_s)
        if not same or not len(kept.means) == len(kept.visits) == len(own.means):
            return None
    edges = np.array(contents.edges, dtype=np.float64)
    if edges.shape != memory.edges.shape:
        return None
    profiles = tuple(
        Profile(
            kept.period_s,
            kept.bin_s,
            kept.newest_share,
            np.array([np.nan if mean is None else mean for mean in kept.means]),
            np.array(kept.visits, dtype=np.int64),
            kept.until_s,
            kept.since_s,
        )
        for kept in contents.profiles
    )
    return RateMemory(profiles, edges)
