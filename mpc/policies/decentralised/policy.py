"""`decentralised`: every executor decides for itself whether to duplicate or to delete itself.

Source: Belkhiria and Tedeschi 2019, section 4.1 and Algorithm 11, with the parameters of section
5.1: desired load 0.7, duplication from 0.8, deletion up to 0.6, each instance asked every 5 steps
of its own life. Every executor gets an equal share of the arrivals and its own draw; the sum is the
target. The oldest is the operator keeper and never goes.

Deviations: the capacity, a constant of the paper, is measured unless it is given: the batches'
row cost where there are batches, otherwise the cost in cycles, at the highest frequency. What the
bounds of the space cut off is not made up for. The message protocol is left to Spark, whose driver
knows every executor (it is in `mpc.decentralised`). Executors decide by their load: those that were
asked for are taken to run, and while no batch tells a rate none decides. The frequency stays
at its maximum.
"""

from mpc.batch_cost import BatchCostEstimate, refined
from mpc.bounds import Bounds
from mpc.decentralised.decision import LoadBand, change
from mpc.policies.context import Context
from mpc.policies.decentralised.options import DecentralisedOptions
from mpc.policies.full_speed import at_full_speed
from mpc.values import Decision, Measurement


class DecentralisedPolicy:
    def __init__(self, options: DecentralisedOptions, context: Context) -> None:
        self._space = context.space
        self._options = options
        self._band = LoadBand(options.target_load, options.upper_load, options.lower_load)
        self._generator = context.generator
        self._ages: list[int] = []
        """Steps every executor has lived, the keeper's first."""
        self._batch_cost: BatchCostEstimate | None = None
        self._cost_cycles: float | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._observe(measurement)
        executors, reason = self._change(measurement, bounds)
        return at_full_speed(measurement, bounds, executors, reason)

    def _observe(self, measurement: Measurement) -> None:
        for batch in measurement.batches:
            self._batch_cost = refined(self._batch_cost, batch)
        if measurement.cost_cycles:
            self._cost_cycles = measurement.cost_cycles
        # Executors come and go by other hands too: the newest are those that differ.
        executors = measurement.requested.executors
        newcomers = max(executors - len(self._ages), 0)
        self._ages = [age + 1 for age in self._ages[:executors]] + [1] * newcomers

    def _change(self, measurement: Measurement, bounds: Bounds) -> tuple[int, str]:
        before = len(self._ages)
        capacity_per_s = self._capacity_per_s()
        if measurement.arrivals_per_s is None:
            return before, "no arrivals measured"
        if capacity_per_s is None:
            return before, "capacity of an executor not known yet"
        asked = [age % self._options.period_steps == 0 for age in self._ages]
        load_per_s = measurement.arrivals_per_s / max(len(self._ages), 1)
        share = load_per_s / capacity_per_s
        if not any(asked):
            return before, f"load {share:.2f} of capacity, no executor's turn to decide"
        changes = [
            change(load_per_s, capacity_per_s, self._band, index == 0, self._generator)
            if turn
            else 0
            for index, turn in enumerate(asked)
        ]
        return self._applied(changes, share, sum(asked), bounds)

    def _applied(
        self, changes: list[int], share: float, asked: int, bounds: Bounds
    ) -> tuple[int, str]:
        """The sum of all decisions; an executor that goes takes its age along."""
        added = sum(wish for wish in changes if wish > 0)
        leaving = [index for index, wish in enumerate(changes) if wish < 0]
        free_to_go = max(len(self._ages) - bounds.space.min_executors, 0)
        for index in reversed(leaving[:free_to_go]):
            del self._ages[index]
        executors = len(self._ages) + added
        reason = (
            f"load {share:.2f} of capacity: of {asked} executors that were asked, "
            f"{sum(wish > 0 for wish in changes)} duplicate and {len(leaving)} go"
        )
        return executors, reason

    def _capacity_per_s(self) -> float | None:
        if self._options.capacity_per_s is not None:
            return self._options.capacity_per_s
        cycles = self._cost_cycles
        if self._batch_cost is not None:
            cycles = self._batch_cost.cost.row_cycles
        if cycles is None:
            return None
        # A cost of zero would promise infinity.
        return self._space.frequencies_khz[-1] * 1e3 / max(cycles, 1.0)
