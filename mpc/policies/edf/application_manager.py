"""The application manager: which of the requested reconfigurations are carried out.

Source: Cardellini et al. 2018, section 7: prioritisation by score, prevention of conflicts (two
requests for the same node, the lower score gives way), acceptance of all that remain or of as many
as the token bucket allows. An H token grants a scale-out or a migration, an L token a scale-in; the
bucket holds one kind at a time and at most its capacity. Section 9: capacity 1, a token every 60 s,
thresholds 0.9 and 0.5 of R_max.

Deviations: migrations and scale-outs share one order, as they compete for nodes and H tokens (the
paper orders every kind by itself); requests of the same operator conflict, too, since one replica
cannot be moved and ended at once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from mpc.policies.edf.values import Request, ScaleIn

Token = Literal["H", "L"]


@dataclass(frozen=True, slots=True)
class BucketParameters:
    high_s: float
    """tau_H: an application response time above it makes an H token."""
    low_s: float
    """tau_L: one below it makes an L token."""
    period_s: float = 60.0
    capacity: int = 1

    def __post_init__(self) -> None:
        if not 0 <= self.low_s < self.high_s:
            raise ValueError(f"thresholds must satisfy 0 <= low < high, got {self}")
        if self.period_s <= 0 or self.capacity < 1:
            raise ValueError(f"period_s and capacity must be positive, got {self}")

    @classmethod
    def of_target(cls, target_s: float) -> "BucketParameters":
        """The paper's thresholds for a response time not to exceed."""
        return cls(high_s=0.9 * target_s, low_s=0.5 * target_s)


class TokenBucket:
    def __init__(self, parameters: BucketParameters) -> None:
        self._parameters = parameters
        self._kind: Token = "H"
        self._tokens = 0
        self._generated_s: float | None = None

    @property
    def kind(self) -> Token | None:
        return self._kind if self._tokens else None

    @property
    def tokens(self) -> int:
        return self._tokens

    def fill(self, time_s: float, response_s: float | None) -> None:
        """Called at every planning step; at most one token a period."""
        parameters = self._parameters
        if self._generated_s is not None and time_s - self._generated_s < parameters.period_s:
            return
        self._generated_s = time_s
        if response_s is None:
            return
        if response_s > parameters.high_s:
            self._insert("H")
        elif response_s < parameters.low_s:
            self._insert("L")

    def take(self, request: Request) -> bool:
        """Spend a token of the kind the request needs; False when there is none."""
        if not self._tokens or self._kind != ("L" if isinstance(request, ScaleIn) else "H"):
            return False
        self._tokens -= 1
        return True

    def _insert(self, kind: Token) -> None:
        if kind != self._kind:
            self._kind, self._tokens = kind, 0
        self._tokens = min(self._tokens + 1, self._parameters.capacity)


class ApplicationManager:
    def __init__(self, bucket: TokenBucket | None = None) -> None:
        """Without a bucket every request is granted that is in no conflict."""
        self._bucket = bucket

    def grant(
        self, time_s: float, response_s: float | None, requests: Sequence[Request]
    ) -> list[Request]:
        """`response_s`: response time of the application over the last interval."""
        if self._bucket is not None:
            self._bucket.fill(time_s, response_s)
        granted = without_conflicts(prioritised(requests))
        if self._bucket is not None:
            granted = [request for request in granted if self._bucket.take(request)]
        return granted


def prioritised(requests: Sequence[Request]) -> list[Request]:
    """Highest score first; of equal ones the first received."""
    return sorted(requests, key=lambda request: -request.score)


def without_conflicts(requests: Sequence[Request]) -> list[Request]:
    """From the first on; a node and an operator are taken by the first that asks for them."""
    nodes: set[int] = set()
    operators: set[str] = set()
    kept = []
    for request in requests:
        node = None if isinstance(request, ScaleIn) else request.target_node
        if request.operator in operators or node in nodes:
            continue
        operators.add(request.operator)
        if node is not None:
            nodes.add(node)
        kept.append(request)
    return kept
