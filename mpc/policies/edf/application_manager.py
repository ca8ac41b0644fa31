"""The application manager: which of the requested reconfigurations are carried out.

Source: Cardellini et al. 2018, section 7: prioritisation by score, prevention of conflicts (two
requests for the same node, the lower score gives way), acceptance of all that remain or of as many
as the token bucket allows.

Deviations: migrations and scale-outs share one order, as they compete for nodes and H tokens (the
paper orders every kind by itself); requests of the same operator conflict, too, since one replica
cannot be moved and ended at once.
"""

from collections.abc import Sequence

from mpc.policies.edf.token_bucket import TokenBucket
from mpc.policies.edf.values import Request, ScaleIn


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
