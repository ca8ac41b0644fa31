"""Which node takes a new replica, which replica goes, and the node manager: a random replica leaves
an overloaded node.

Source: Cardellini et al. 2018, sections 5 and 6. Candidates for a new replica are sorted by network
delay and drawn at random, the closer the likelier; a scale-in ends the replica on the busiest node.
Migration is sender-initiated: above the target utilisation U_mig one replica of the node, drawn at
random, is proposed for a move; the new node is drawn as for a new replica, without overloaded
nodes. The score is the normalised excess.

Deviations: the paper gives no probabilities; here the i-th closest node has weight 1/i. It names no
U_mig (its experiments switch migration off); the default is 0.8.
"""

import numpy as np

from mpc.policies.edf.values import ClusterView, Migration

DEFAULT_MIGRATION_UTILISATION = 0.8


def choose_node(
    cluster: ClusterView,
    origin: int,
    generator: np.random.Generator,
    excluded: frozenset[int] = frozenset(),
) -> int | None:
    """A node with a free slot, seen from `origin`; None when there is none."""
    candidates = [
        node for node, free in enumerate(cluster.free_slots) if free > 0 and node not in excluded
    ]
    if not candidates:
        return None
    candidates.sort(key=lambda node: (float(cluster.delays_s[origin, node]), node))
    weights = 1.0 / np.arange(1, len(candidates) + 1)
    return int(generator.choice(candidates, p=weights / weights.sum()))


def replica_to_end(cluster: ClusterView, nodes: tuple[int, ...]) -> int:
    """Position of the replica on the busiest node; `nodes` are those of the operator's replicas."""
    return max(range(len(nodes)), key=lambda replica: cluster.utilisations[nodes[replica]])


class NodeManager:
    def __init__(
        self,
        node: int,
        generator: np.random.Generator,
        migration_utilisation: float = DEFAULT_MIGRATION_UTILISATION,
    ) -> None:
        if not 0 < migration_utilisation < 1:
            raise ValueError(
                f"migration_utilisation must lie between 0 and 1, got {migration_utilisation}"
            )
        self._node = node
        self._generator = generator
        self._migration_utilisation = migration_utilisation

    def propose(self, cluster: ClusterView, hosted: list[tuple[str, int]]) -> Migration | None:
        """`hosted` are the replicas on this node: operator and position among its replicas."""
        target = self._migration_utilisation
        utilisation = cluster.utilisations[self._node]
        if utilisation <= target or not hosted:
            return None
        operator, replica = hosted[int(self._generator.integers(len(hosted)))]
        overloaded = frozenset(
            node for node, used in enumerate(cluster.utilisations) if used > target
        )
        destination = choose_node(cluster, self._node, self._generator, overloaded)
        if destination is None:
            return None
        score = (min(utilisation, 1.0) - target) / (1.0 - target)
        return Migration(operator, score, replica, destination)
