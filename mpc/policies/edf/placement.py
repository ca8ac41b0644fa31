"""Which node takes a new replica and which replica goes.

Source: Cardellini et al. 2018, section 5. Candidates are sorted by network delay and drawn at
random, the closer the likelier; a scale-in ends the replica on the busiest node.

Deviation: the paper gives no probabilities; here the i-th closest node has weight 1/i.
"""

import numpy as np

from mpc.policies.edf.values import ClusterView


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
