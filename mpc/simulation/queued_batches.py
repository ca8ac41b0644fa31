"""The micro-batch plant as Spark Streaming (DStreams) has it: batches are cut and queue up.

At every interval a batch is cut, whether the one before has ended or not, and waits for its turn;
Structured Streaming would let one batch take everything that has arrived. What a row costs may
differ from step to step.
"""

import math

import numpy as np

from energy.power import PowerModel
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.row_queue import TakenRows
from mpc.values import Configuration, FloatArray


class QueuedBatchPlant(MicroBatchPlant):
    def __init__(
        self,
        rates_per_s: FloatArray,
        traits: MicroBatchTraits,
        power: PowerModel,
        start: Configuration,
        generator: np.random.Generator,
        *,
        step_s: float,
        row_costs: FloatArray,
    ) -> None:
        """`row_costs`: what a row of each step costs, in units of `row_cycles`."""
        super().__init__(rates_per_s, traits, power, start, generator, step_s=step_s)
        if traits.trigger_interval_s is None:
            raise ValueError("batches are cut at an interval: set trigger_interval_s")
        if row_costs.shape != rates_per_s.shape or not (row_costs > 0).all():
            raise ValueError("row_costs must be positive, one a step")
        self._interval_s = traits.trigger_interval_s
        self._row_costs = row_costs

    def _begins_s(self) -> float:
        arrival_s = self._queue.next_arrival_s
        return math.inf if arrival_s is None else max(self._cut_s(arrival_s), self._now_s)

    def _taken(self) -> TakenRows | None:
        arrival_s = self._queue.next_arrival_s
        return None if arrival_s is None else self._queue.take(self._cut_s(arrival_s))

    def _mean_cycles(self, rows: TakenRows) -> float:
        """Rows count with the cost of the step they arrived in."""
        first = int(rows.first_arrival_s / self._step_s)
        steps = slice(first, max(int(rows.last_arrival_s / self._step_s), first) + 1)
        cost = float(np.average(self._row_costs[steps], weights=self._arrivals[steps]))
        return super()._mean_cycles(rows) * cost

    def _cut_s(self, arrival_s: float) -> float:
        """When the batch of a row that arrives then is cut."""
        return math.ceil(arrival_s / self._interval_s) * self._interval_s
