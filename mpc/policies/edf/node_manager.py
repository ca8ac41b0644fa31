"""The node manager: a random replica leaves an overloaded node.

Source: Cardellini et al. 2018, section 6 (sender-initiated migration). Above the target utilisation
U_mig one replica of the node, drawn at random, is proposed for a move; the new node is drawn as for
a new replica, without overloaded nodes. The score is the normalised excess.

Deviation: the paper names no U_mig (its experiments switch migration off); the default is 0.8.
"""

import numpy as np

from mpc.policies.edf.placement import choose_node
from mpc.policies.edf.values import ClusterView, Migration

DEFAULT_MIGRATION_UTILISATION = 0.8


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
