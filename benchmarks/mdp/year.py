"""A controller on the pipeline of Russo Russo 2018, slot by slot, and what it cost (Eq. 1)."""

from dataclasses import dataclass
from time import process_time

import numpy as np

from benchmarks.mdp.setting import SLOT_S, MdpSetting, utilisations, violations
from mpc.policies.mdp.controllers import Controller, Slot
from mpc.values import FloatArray, IntArray

SLOTS_A_DAY = int(24 * 3600 / SLOT_S)


@dataclass(frozen=True, slots=True)
class MdpOutcome:
    cost: float
    """Mean of Eq. 1 over all slots, whatever the controller itself minimises."""
    violations: int
    reconfigurations: int
    """Slots that begin with one, of however many operators: the application stops once."""
    instances: float
    daily_cost: FloatArray
    """Mean of every day; the last may be a part of one."""
    cpu_s: float
    """Of this process, for deciding, learning and simulating."""

    def cost_until(self, day: int) -> float:
        """Mean from the start to the end of a day, from 1."""
        return float(self.daily_cost[:day].mean())


def simulate(setting: MdpSetting, levels: IntArray, controller: Controller) -> MdpOutcome:
    """`levels` has one more value than there are slots. Starts in the middle of the instances.

    As in Eq. 1 the response time of a slot is that of the rate at its start, T(s, a).
    """
    began_s = process_time()
    instances = setting.instances
    size = int(levels.max()) + 1
    violated = violations(setting, size) > 0
    counts = instances.counts
    # Plain lists: one element of an array costs ten times as much.
    path, over = levels.tolist(), violated.tolist()
    used = utilisations(setting, size).tolist()
    own = (counts - instances.fewest).tolist()
    at = instances.place(np.full(setting.operators, (instances.most + 1) // 2))
    slots = len(levels) - 1
    visited = np.empty(slots, dtype=np.int64)
    changed = np.empty(slots, dtype=np.bool_)
    for slot in range(slots):
        level = path[slot]
        after = controller.decide(level, at)
        loads = tuple(
            [operator[level][count] for operator, count in zip(used, own[after], strict=True)]
        )
        controller.learn(Slot(level, at, after, path[slot + 1], over[level][after], loads))
        visited[slot] = after
        changed[slot] = after != at
        at = after
    missed = violated[levels[:-1], visited]
    running = counts[visited].sum(axis=1)
    weights = setting.weights
    cost = (
        weights.resource * running / (setting.operators * instances.most)
        + weights.reconfiguration * changed
        + weights.violation * missed
    )
    days = range(0, slots, SLOTS_A_DAY)
    return MdpOutcome(
        cost=float(cost.mean()),
        violations=int(missed.sum()),
        reconfigurations=int(changed.sum()),
        instances=float(running.mean()),
        daily_cost=np.asarray([cost[day : day + SLOTS_A_DAY].mean() for day in days]),
        cpu_s=process_time() - began_s,
    )
