"""What the managers of EDF tell each other: samples of operators, proposals and requests.

Source: Cardellini et al. 2018, section 4. An operator manager proposes a change of its own
replicas; with the nodes it concerns the proposal becomes a request, which the application manager
grants or not.
"""

from dataclasses import dataclass
from typing import Literal, Protocol

from mpc.values import FloatArray


@dataclass(frozen=True, slots=True)
class OperatorSample:
    """One operator over the last planning interval. `None` means not measured."""

    replicas: int
    utilisations: tuple[float, ...] | None = None
    """U_r: fraction of CPU time used by every replica."""
    arrivals_per_s: float | None = None
    response_s: float | None = None
    """Mean response time of the operator, waiting included."""


@dataclass(frozen=True, slots=True)
class Proposal:
    """What a local policy wants for its operator: one replica more, one fewer, or none of both."""

    change: Literal[-1, 0, 1]
    score: float
    """The prospective benefit in the eyes of the proposer; 0 where nothing is proposed."""
    reason: str


class LocalPolicy(Protocol):
    """The planning of one operator manager (section 5)."""

    def propose(self, sample: OperatorSample) -> Proposal: ...


@dataclass(frozen=True, slots=True)
class ScaleOut:
    """Add a replica on a node."""

    operator: str
    score: float
    target_node: int


@dataclass(frozen=True, slots=True)
class ScaleIn:
    """End a replica, named by its position among those of the operator."""

    operator: str
    score: float
    replica: int


@dataclass(frozen=True, slots=True)
class Migration:
    """Move a replica to another node."""

    operator: str
    score: float
    replica: int
    target_node: int


Request = ScaleOut | ScaleIn | Migration
"""What a manager asks the application manager for (section 4)."""


@dataclass(frozen=True, slots=True)
class ClusterView:
    """What the resource monitors know about the nodes."""

    utilisations: tuple[float, ...]
    """U_h: fraction of the CPU time of every node in use."""
    free_slots: tuple[int, ...]
    delays_s: FloatArray
    """Network delay between every two nodes."""


def kept(reason: str) -> Proposal:
    return Proposal(0, 0.0, reason)
