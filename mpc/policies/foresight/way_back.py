"""Executors that may be wanted again, where new ones are slow to become warm.

The first batch of a new executor takes seconds longer. When the latency is at the target already,
it breaks it; while there is room for such a batch, it does not. So executors are given up freely
only to a configuration with that room, and ordered back before the room is used up. Keeping the
room, or the executors, has a price too, and when they will be wanted is beyond the horizon: once it
has cost as much as one late batch, they are given up for good. Whatever the load does then, no more
than twice the least possible was paid (the ski rental problem, Karlin et al. 1988).
"""

from dataclasses import replace

from mpc.horizon.problem import HorizonProblem
from mpc.horizon.trajectory import cost_terms
from mpc.values import FloatArray, Measurement, Plan


class WayBack:
    def __init__(self) -> None:
        self._forgone = 0.0
        """What executors, or room for their return, have cost since a plan could do without."""
        self._requested = 0
        self._wanted_back = 0
        """So many executors a plan must be able to have again without breaking the target."""
        self._running = 0
        self._warming = False
        """Executors have come, and no batch has ended since that they were warm in."""

    def observe(self, measurement: Measurement, requested: int, most: int) -> None:
        """`requested`: the executors of the configuration that the step begins with. `most`: that
        may be asked for in it."""
        if requested < self._requested:
            self._forgone = 0.0  # they are gone
        self._requested = requested
        self._wanted_back = min(max(self._wanted_back, requested), most)
        running = measurement.observed.executors
        if running > self._running:
            self._warming = True
        elif any(not batch.cold for batch in measurement.batches):
            self._warming = False
        self._running = running

    def needed(self, plan: Plan) -> bool:
        """Whether a first batch is ahead, or the plan does without executors that would be late if
        they were wanted again."""
        first = plan.trajectory[0].executors
        if first > self._requested:
            self._forgone = 0.0
        return self._warming or first < self._wanted_back

    def required(
        self, problem: HorizonProblem, room_s: FloatArray, lasting_room_s: FloatArray
    ) -> HorizonProblem:
        """The problem in which fewer executors than those must leave room for a first batch.

        `room_s` (h, N, F) is the latency that counts a target broken so much earlier, and
        `lasting_room_s` (N, F) that of the highest rate foreseen. Executors that are ordered must
        be enough for it, so that they come together, in one such batch and not in several. None is
        given up before its first batch has ended.
        """
        fewest = problem.space.min_executors
        enough = self._wanted_back - fewest
        kept = min(self._requested + 1 - fewest, enough)
        latency_s = problem.latency_s.copy()
        latency_s[:, :kept] = room_s[:, :kept]
        latency_s[:, kept:enough] = lasting_room_s[kept:enough]
        if self._warming:
            latency_s[:, enough:] = room_s[:, enough:]
            latency_s[:, : self._requested - fewest] = room_s.max()
        return replace(problem, latency_s=latency_s)

    def pays(self, problem: HorizonProblem, plan: Plan, safe: Plan, price: float) -> bool:
        """Whether to go by the safe plan instead of the cheapest one: not once what it costs more
        has come to the price of a late return."""
        if self._warming:
            return True  # of batches that are sure to come
        dearer = cost_terms(problem, safe.trajectory).total - plan.cost.total
        self._forgone += max(dearer, 0.0) / problem.horizon
        if self._forgone < price:
            return True
        # And again until they are gone: guards may want to hear it for a while.
        self._wanted_back = plan.trajectory[0].executors
        return False
