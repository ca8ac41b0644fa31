"""Which replica owns which key: two heuristics for the distribution table of De Matteis and
Mencagli 2016.

`balanced` is Algorithm 1 of the paper (greedy minimum makespan): best balance, but it moves most
keys. `flux` (Shah et al. 2003) starts from the current owners and moves only as many keys as bring
the loads within a threshold. Both are deterministic and end on any weights.
"""

import numpy as np

from forecasting.compiled import compiled
from mpc.values import FloatArray, IntArray


def balanced(weights: FloatArray, executors: int) -> IntArray:
    """Algorithm 1: every key, heaviest first, to the replica with the least load so far.

    Ties go to the lower key and to the lower replica.
    """
    _require_weights(weights, executors)
    owners = np.zeros(len(weights), dtype=np.int64)
    _assign_greedily(weights, _heaviest_first(weights), owners, np.zeros(executors))
    return owners


def flux(weights: FloatArray, owners: IntArray, executors: int, threshold: float = 0.1) -> IntArray:
    """Few moves: the most loaded replica gives to the least loaded until they differ little.

    "Little" is a ratio of their loads of at most 1 + threshold. Keys of replicas that are gone
    (owner >= executors) first go where the least load is. A move takes the heaviest key that
    closes at most half of the gap, or else the lightest that still narrows it.

    Deviations from the authors' code, which tries only the heaviest key of the donor and repeats
    for ever when that key does not fit (11 -> 12 replicas on the paper's distribution): all keys
    of the donor are looked at, a donor without a fitting key stays as it is, and a key moves
    once. So there are at most keys + replicas rounds.
    """
    _require_weights(weights, executors)
    if len(owners) != len(weights):
        raise ValueError(f"{len(owners)} owners for {len(weights)} weights; give one for each key")
    if len(owners) and owners.min() < 0:
        raise ValueError(f"owners must not be negative, got {owners.min()}")
    if not threshold >= 0:
        raise ValueError(f"threshold must be at least 0, got {threshold}")
    order = _heaviest_first(weights)
    moved = owners.astype(np.int64, copy=True)
    kept = moved < executors
    loads = _loads(weights[kept], moved[kept], executors)
    _assign_greedily(weights, order[~kept[order]], moved, loads)
    _narrow_gaps(weights, order, moved, loads, threshold)
    return moved


def imbalance(weights: FloatArray, owners: IntArray, executors: int) -> float:
    """Largest load over mean load: 1 is perfect. Without any load it is 1 as well."""
    loads = _loads(weights, owners, executors)
    mean = float(loads.mean())
    return float(loads.max()) / mean if mean > 0 else 1.0


def warm_up() -> None:
    """Compile (or load from the disk cache) before the first control step."""
    flux(np.ones(3), balanced(np.ones(3), 2), 3)


def _require_weights(weights: FloatArray, executors: int) -> None:
    if executors < 1:
        raise ValueError(f"executors must be at least 1, got {executors}")
    # The sum is finite only if every weight is; an infinite sum has no mean to balance to.
    if len(weights) and not (weights.min() >= 0 and np.isfinite(weights.sum())):
        raise ValueError("weights must be finite and not negative; drop keys without a weight")


def _loads(weights: FloatArray, owners: IntArray, executors: int) -> FloatArray:
    return np.bincount(owners, weights=weights, minlength=executors).astype(np.float64)


def _heaviest_first(weights: FloatArray) -> IntArray:
    return np.argsort(-weights, kind="stable")


# A tournament tree over ranks: leaves are replicas, each node holds the replica of lower rank
# (the left one on a tie), so the winner is at the root and one update costs log2(replicas).
# With 1,000 replicas a scan for every key would cost milliseconds.


@compiled
def _tournament(rank: FloatArray) -> IntArray:
    leaves = 1
    while leaves < len(rank):
        leaves *= 2
    # A missing leaf repeats the last replica, which changes no winner.
    nodes = np.empty(2 * leaves, dtype=np.int64)
    for leaf in range(leaves):
        nodes[leaves + leaf] = min(leaf, len(rank) - 1)
    for node in range(leaves - 1, 0, -1):
        left, right = nodes[2 * node], nodes[2 * node + 1]
        nodes[node] = right if rank[right] < rank[left] else left
    # With a single leaf the root is the leaf itself; node 0 is unused otherwise.
    nodes[0] = leaves
    return nodes


@compiled
def _replay(nodes: IntArray, rank: FloatArray, replica: int) -> None:
    node = (nodes[0] + replica) // 2
    while node >= 1:
        left, right = nodes[2 * node], nodes[2 * node + 1]
        nodes[node] = right if rank[right] < rank[left] else left
        node //= 2


@compiled
def _assign_greedily(
    weights: FloatArray, order: IntArray, owners: IntArray, loads: FloatArray
) -> None:
    nodes = _tournament(loads)
    for key in order:
        replica = nodes[1]
        owners[key] = replica
        loads[replica] += weights[key]
        _replay(nodes, loads, replica)


@compiled
def _keys_by_owner(
    order: IntArray, owners: IntArray, replicas: int
) -> tuple[IntArray, IntArray, IntArray]:
    """The keys of every replica r, heaviest first: keys[begin[r]:end[r]]."""
    begin = np.zeros(replicas + 1, dtype=np.int64)
    for key in order:
        begin[owners[key] + 1] += 1
    begin = np.cumsum(begin)
    end = begin.copy()
    keys = np.empty(len(order), dtype=np.int64)
    for key in order:
        keys[end[owners[key]]] = key
        end[owners[key]] += 1
    return keys, begin, end


@compiled
def _key_to_give(
    weights: FloatArray, candidates: IntArray, owners: IntArray, donor: int, gap: float
) -> int:
    """The heaviest key within half of the gap, else the lightest below the gap, else -1."""
    chosen = -1
    for key in candidates:
        if weights[key] <= 0:
            break
        if owners[key] == donor and weights[key] < gap:
            chosen = key
            if weights[key] <= gap / 2:
                break
    return chosen


@compiled
def _narrow_gaps(
    weights: FloatArray, order: IntArray, owners: IntArray, loads: FloatArray, threshold: float
) -> None:
    keys, begin, end = _keys_by_owner(order, owners, len(loads))
    donor_rank = -loads
    donors = _tournament(donor_rank)
    receivers = _tournament(loads)
    while True:
        donor, receiver = donors[1], receivers[1]
        # Donors that cannot give are ranked last; when only such are left, nothing can move.
        if donor_rank[donor] == np.inf or loads[donor] <= (1.0 + threshold) * loads[receiver]:
            return
        while begin[donor] < end[donor] and owners[keys[begin[donor]]] != donor:
            begin[donor] += 1
        candidates = keys[begin[donor] : end[donor]]
        key = _key_to_give(weights, candidates, owners, donor, loads[donor] - loads[receiver])
        if key < 0:
            donor_rank[donor] = np.inf
            _replay(donors, donor_rank, donor)
            continue
        owners[key] = receiver
        loads[donor] -= weights[key]
        loads[receiver] += weights[key]
        for replica in (donor, receiver):
            donor_rank[replica] = -loads[replica]
            _replay(donors, donor_rank, replica)
            _replay(receivers, loads, replica)
