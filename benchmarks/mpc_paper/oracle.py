"""`oracle`: the clairvoyant optimum of a whole trace, the limit nobody can beat.

It knows every tuple in advance. For every step and executor count it finds, by running the
event-exact plant over just that step from empty queues with the keys balanced for what will come,
the lowest frequency that keeps the threshold. That is optimistic (no backlog is ever carried
over), so the least power for a given number of violations is a bound for every policy.
"""

import math
from collections.abc import Callable, Sequence

import numpy as np

from energy.power import PowerModel
from mpc.balance import balanced
from mpc.bounds import Bounds
from mpc.controller import Controller
from mpc.descent_limits import UNLIMITED
from mpc.simulation import operator_kernel as kernel
from mpc.simulation.operator import QUEUE_CAPACITY, OperatorPlant
from mpc.simulation.run import simulate
from mpc.simulation.trace import TriggerTrace
from mpc.values import ConfigurationSpace, Decision, FloatArray, IntArray, Measurement

CHANGE_CHARGE_W = 2.0
"""What one reconfiguration is worth in the executed plan: watts of one step. Small, so that the
plan stays near the bound, but not zero, so that it does not follow every ripple."""

VIOLATION_W = 1e6

REHEARSALS = 12
"""Runs of the plan on the plant, each after mending the steps that the last one violated."""


class Clairvoyance:
    """What is known of a trace in advance: the cheapest way to keep the threshold, step by step."""

    def __init__(
        self,
        trace: TriggerTrace,
        space: ConfigurationSpace,
        power: PowerModel,
        cycles_per_point: float,
        threshold_s: float,
        step_s: float,
    ) -> None:
        self.space = space
        self.steps = int(trace.duration_s // step_s)
        executors = space.executors.astype(np.float64)[:, None]
        frequencies_khz = np.asarray(space.frequencies_khz, dtype=np.float64)[None, :]
        self.power_w = power.power_w(executors, frequencies_khz)
        self.tables = [
            [np.empty(0, dtype=np.int64)] * (space.max_executors + 1) for _ in range(self.steps)
        ]
        self.lowest_frequency = np.empty((self.steps, len(space.executors)), dtype=np.int64)
        """By step and executor count: index of the lowest frequency without a violation, or the
        number of frequencies if there is none."""
        cycles = trace.points * cycles_per_point
        edges = np.searchsorted(trace.time_s, np.arange(self.steps + 1) * step_s)
        for step in range(self.steps):
            part = slice(int(edges[step]), int(edges[step + 1]))
            self._look_at(
                step,
                trace.time_s[part] - step * step_s,
                trace.key[part],
                cycles[part],
                trace.keys,
                threshold_s,
                step_s,
            )

    def _look_at(
        self,
        step: int,
        time_s: FloatArray,
        key: IntArray,
        cycles: FloatArray,
        keys: int,
        threshold_s: float,
        step_s: float,
    ) -> None:
        space = self.space
        weights = np.bincount(key, weights=cycles, minlength=keys).astype(np.float64)
        guess = len(space.frequencies_khz) - 1
        for index, executors in enumerate(space.executors):
            owners = balanced(weights, int(executors))
            self.tables[step][int(executors)] = owners

            def keeps(
                frequency: int, owners: IntArray = owners, replicas: int = int(executors)
            ) -> bool:
                latency_s = _mean_latency_s(
                    time_s, key, cycles, owners, replicas, space.frequencies_hz[frequency], step_s
                )
                return latency_s is None or latency_s <= threshold_s

            # One executor more changes the answer little: search from the last one.
            frequencies = len(space.frequencies_khz)
            guess = min(guess, frequencies - 1)
            if keeps(guess):
                while guess > 0 and keeps(guess - 1):
                    guess -= 1
            else:
                guess += 1
                while guess < frequencies and not keeps(guess):
                    guess += 1
            self.lowest_frequency[step, index] = guess

    def least_power_w(self) -> FloatArray:
        """Mean power of the best plan with at most 0, 1, 2, ... violations: the bound.

        A step that cannot be kept violates anyway. Beyond those, the steps where keeping the
        threshold costs most are given up first, and a violating step takes the least power.
        """
        keeping_w = np.min(
            np.where(self._keeps(), self.power_w[None], np.inf), axis=(1, 2), initial=np.inf
        )
        least_w = float(self.power_w.min())
        savings_w = np.sort(np.where(np.isfinite(keeping_w), keeping_w - least_w, np.inf))[::-1]
        kept = np.where(np.isfinite(savings_w), savings_w, 0.0)
        totals = least_w * self.steps + kept.sum() - np.concatenate([[0.0], np.cumsum(kept)])
        unavoidable = int(np.isinf(savings_w).sum())
        totals[:unavoidable] = np.nan
        return np.asarray(totals / self.steps)

    def plan(self) -> list[tuple[int, int]]:
        """(executor index, frequency index) of every step: no avoidable violation, least power,
        and a small charge per change; exact, by dynamic programming over the trace."""
        keeps = self._keeps()
        # A step that nothing keeps still has to be served, or its backlog ruins the next ones.
        keeps[~keeps.any(axis=(1, 2)), -1, -1] = True
        costs = self.power_w[None] + np.where(keeps, 0.0, VIOLATION_W)
        togo = np.zeros_like(costs[0])
        stages: list[FloatArray] = []
        for step in reversed(range(self.steps)):
            stage = costs[step] + togo
            stages.append(stage)
            togo = np.minimum(stage, stage.min() + CHANGE_CHARGE_W)
        path: list[tuple[int, int]] = []
        for stage in reversed(stages):
            best = np.unravel_index(int(stage.argmin()), stage.shape)
            if path and stage[path[-1]] <= stage[best] + CHANGE_CHARGE_W:
                path.append(path[-1])
            else:
                path.append((int(best[0]), int(best[1])))
        return path

    def demand_more(self, steps: Sequence[int]) -> None:
        """The threshold was not kept in these steps after all: ask for more there and just before,
        where the backlog came from."""
        raised = np.zeros(self.steps, dtype=np.bool_)
        for step in steps:
            raised[max(step - 1, 0) : step + 1] = True
        highest = len(self.space.frequencies_khz)
        kept = self.lowest_frequency < highest
        self.lowest_frequency += raised[:, None] & kept

    def _keeps(self) -> np.ndarray[tuple[int, ...], np.dtype[np.bool_]]:
        frequency = np.arange(len(self.space.frequencies_khz))
        return np.asarray(frequency[None, None, :] >= self.lowest_frequency[:, :, None])


class OraclePolicy:
    """Follows a clairvoyant plan on the real plant, backlog and migrations included."""

    def __init__(self, clairvoyance: Clairvoyance) -> None:
        self._clairvoyance = clairvoyance
        self._plan = clairvoyance.plan()

    @classmethod
    def rehearsed(
        cls,
        clairvoyance: Clairvoyance,
        new_plant: Callable[[], OperatorPlant],
        threshold_s: float,
    ) -> "OraclePolicy":
        """The best of several plans, each tried on the plant and mended where it violated.

        The bound starts every step from empty queues; on the plant the last step's backlog is
        still there, so the plan that meets the bound does not quite keep the threshold.
        """
        best, fewest = cls(clairvoyance), np.inf
        for _ in range(REHEARSALS):
            policy, plant = cls(clairvoyance), new_plant()
            # Nothing is ever too late for one who knows what comes.
            simulate(Controller.of(policy, clairvoyance.space, math.inf, 1.0, UNLIMITED), plant)
            violated = [
                step for step, record in enumerate(plant.records) if record.violates(threshold_s)
            ]
            if len(violated) < fewest:
                best, fewest = policy, len(violated)
            if not violated:
                break
            clairvoyance.demand_more(violated)
        return best

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        step = min(measurement.step, len(self._plan) - 1)
        target = bounds.nearest(self._clairvoyance.space.at(*self._plan[step]))
        return Decision(
            target,
            "known in advance",
            key_owners=self._clairvoyance.tables[step][target.executors],
        )


def _mean_latency_s(
    time_s: FloatArray,
    key: IntArray,
    cycles: FloatArray,
    owners: IntArray,
    replicas: int,
    frequency_hz: float,
    step_s: float,
) -> float | None:
    """Mean latency of the results of one step that starts with empty queues."""
    state = kernel.new_state(time_s, key, cycles, len(owners), replicas, steps=0)
    state.owner[:] = owners
    state.owner_of_version[:, 0] = owners
    kernel.run_until(state, step_s, frequency_hz, QUEUE_CAPACITY)
    completed = state.step_sums[kernel.COMPLETED]
    return float(state.step_sums[kernel.LATENCY] / completed) if completed else None
