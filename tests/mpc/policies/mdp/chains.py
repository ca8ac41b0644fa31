"""The decision process of Russo Russo 2018 written out state by state, to judge the fast one by."""

from itertools import product

import numpy as np

from mpc.policies.mdp.problem import Instances, MdpWeights
from mpc.values import FloatArray, IntArray


def random_transitions(levels: int, random: np.random.Generator) -> FloatArray:
    matrix = random.random((levels, levels)) * (random.random((levels, levels)) < 0.7)
    matrix[np.arange(levels), np.arange(levels)] += 0.1
    return np.asarray(matrix / matrix.sum(axis=1, keepdims=True))


def value_of(
    policy: IntArray,
    transitions: FloatArray,
    violated: FloatArray,
    instances: Instances,
    weights: MdpWeights,
    discount: float,
) -> FloatArray:
    """V of a policy (levels, size) by linear equations: (I - discount P) V = c, Eq. 1 for c."""
    levels, size = policy.shape
    counts = instances.counts
    matrix = np.eye(levels * size)
    cost = np.empty(levels * size)
    for level, at in product(range(levels), range(size)):
        after = int(policy[level, at])
        row = level * size + at
        cost[row] = (
            weights.resource * counts[after].sum() / (instances.operators * instances.most)
            + weights.reconfiguration * (after != at)
            + weights.violation * violated[level, after]
        )
        for following in range(levels):
            matrix[row, following * size + after] -= discount * transitions[level, following]
    return np.asarray(np.linalg.solve(matrix, cost).reshape(levels, size))


def optimal_values(
    transitions: FloatArray,
    violated: FloatArray,
    instances: Instances,
    weights: MdpWeights,
    discount: float,
) -> FloatArray:
    """Policy iteration, exact at every step."""
    levels, size = violated.shape
    counts = instances.counts
    reach = [
        [to for to in range(size) if np.abs(counts[to] - counts[at]).max() <= 1]
        for at in range(size)
    ]
    share = counts.sum(axis=1) / (instances.operators * instances.most)
    stage = weights.resource * share + weights.violation * violated
    policy = np.tile(np.arange(size), (levels, 1))
    while True:
        values = value_of(policy, transitions, violated, instances, weights, discount)
        ahead = stage + discount * transitions @ values
        improved = policy.copy()
        for level, at in product(range(levels), range(size)):
            cost = ahead[level] + weights.reconfiguration * (np.arange(size) != at)
            best = min(reach[at], key=cost.__getitem__)
            if cost[best] < cost[policy[level, at]] - 1e-12:
                improved[level, at] = best
        if (improved == policy).all():
            return values
        policy = improved
