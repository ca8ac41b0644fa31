"""Whether `foresight` keeps the target as well as the best peer, with less energy than its equals.

The two questions of the peers' table: has it no more time over target than any peer, and less
energy than every peer that is over target at most one percentage point longer than itself?
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from benchmarks.peers.comparison import PeerRow

OWN = "foresight"
NEAR = 0.01
"""Peers within one percentage point of its time over target are its equals in energy."""


@dataclass(frozen=True, slots=True)
class PeerVerdict:
    over_target: float
    best_peer: str
    best_peer_over_target: float
    cheapest_equal: str | None
    """Of the peers that keep the target as well, the one with least energy; None without one."""
    energy_saved: float | None
    """Against that one; negative when foresight takes more."""

    @property
    def sentence(self) -> str:
        first = (
            f"foresight was over target in {self.over_target:.2%} of the steps, the best peer "
            f"({self.best_peer}) in {self.best_peer_over_target:.2%}"
        )
        if self.cheapest_equal is None or self.energy_saved is None:
            return f"{first}; no peer is within a point of it."
        more_or_less = "less" if self.energy_saved > 0 else "more"
        return (
            f"{first}; it took {abs(self.energy_saved):.1%} {more_or_less} energy than "
            f"{self.cheapest_equal}, the cheapest peer within a point of it or better."
        )


def verdict(rows: Sequence[PeerRow]) -> PeerVerdict | None:
    """Means over the seeds; None without foresight or without a peer."""
    names = dict.fromkeys(row.policy for row in rows)
    peers = [name for name in names if not name.startswith(OWN)]
    if OWN not in names or not peers:
        return None
    over = {name: _mean(rows, name, "over_target_fraction") for name in names}
    energy_j = {name: _mean(rows, name, "energy_j") for name in names}
    best = min(peers, key=lambda name: over[name])
    equals = [name for name in peers if over[name] <= over[OWN] + NEAR]
    cheapest = min(equals, key=lambda name: energy_j[name], default=None)
    return PeerVerdict(
        over_target=over[OWN],
        best_peer=best,
        best_peer_over_target=over[best],
        cheapest_equal=cheapest,
        energy_saved=None if cheapest is None else 1.0 - energy_j[OWN] / energy_j[cheapest],
    )


def _mean(rows: Sequence[PeerRow], policy: str, measure: str) -> float:
    return fmean(getattr(row, measure) for row in rows if row.policy == policy)
