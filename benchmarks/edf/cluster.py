"""The cluster of Cardellini et al. 2018, section 9: four worker nodes of eight cores and eight
replica slots.

Keeps where every replica runs. A node whose replicas and other tenants want more than its cores
gives each of them its share, so that everything on it slows down. Network delays are an
assumption (the paper's nodes stand in one room): none within a node, and between neighbours on a
ring one hop, across it two.
"""

from dataclasses import dataclass, field

import numpy as np

from benchmarks.edf.query import HOP_S, TOP_ROUTES, Query
from mpc.policies.edf.values import ClusterView, Request, ScaleIn, ScaleOut
from mpc.values import FloatArray

NODES = 4
CORES = 8
SLOTS = 8


def ring_delays_s(nodes: int = NODES) -> FloatArray:
    away = np.abs(np.subtract.outer(np.arange(nodes), np.arange(nodes)))
    return np.asarray(np.minimum(away, nodes - away) * HOP_S)


def beside_the_ranking(cores: float) -> tuple[float, ...]:
    """Other tenants on the node where the ranking of the top routes starts, and on no other."""
    names = [operator.name for operator in TOP_ROUTES]
    ranking = names.index("partialRank") % NODES
    return tuple(cores if node == ranking else 0.0 for node in range(NODES))


@dataclass(slots=True)
class QueryDeployment:
    """Nodes of the replicas of every operator, and the load of other tenants in cores."""

    placed: dict[str, list[int]]
    other_cores: tuple[float, ...] = (0.0,) * NODES
    delays_s: FloatArray = field(default_factory=ring_delays_s)

    @classmethod
    def smallest(cls, query: Query, other_cores: tuple[float, ...]) -> "QueryDeployment":
        """One replica of every operator, dealt out to the nodes in turn."""
        placed = {operator.name: [at % NODES] for at, operator in enumerate(query)}
        return cls(placed, other_cores)

    @property
    def replicas(self) -> int:
        return sum(len(nodes) for nodes in self.placed.values())

    def hosted(self, node: int) -> list[tuple[str, int]]:
        return [
            (name, replica)
            for name, nodes in self.placed.items()
            for replica, at in enumerate(nodes)
            if at == node
        ]

    def used_cores(self, utilisations: dict[str, tuple[float, ...]]) -> FloatArray:
        used = np.array(self.other_cores)
        for name, nodes in self.placed.items():
            for node, utilisation in zip(nodes, utilisations[name], strict=True):
                used[node] += utilisation
        return used

    def view(self, utilisations: dict[str, tuple[float, ...]]) -> ClusterView:
        used = self.used_cores(utilisations)
        free = [SLOTS - len(self.hosted(node)) for node in range(NODES)]
        return ClusterView(
            tuple(float(min(cores / CORES, 1.0)) for cores in used), tuple(free), self.delays_s
        )

    def slowdown(self, utilisations: dict[str, tuple[float, ...]]) -> FloatArray:
        """Factor on the service times on every node: 1 while it has cores to spare."""
        return np.asarray(np.maximum(self.used_cores(utilisations) / CORES, 1.0))

    def hop_s(self, upstream: str, downstream: str) -> float:
        """Mean delay between the replicas of two operators."""
        between = np.ix_(self.placed[upstream], self.placed[downstream])
        return float(self.delays_s[between].mean())

    def carry_out(self, request: Request) -> None:
        nodes = self.placed[request.operator]
        if isinstance(request, ScaleOut):
            nodes.append(request.target_node)
        elif isinstance(request, ScaleIn):
            del nodes[request.replica]
        else:
            nodes[request.replica] = request.target_node
