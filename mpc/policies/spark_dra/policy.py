"""`spark-dra`: Spark's core dynamic allocation, which follows the tasks that wait for a slot.

Source: Spark's documentation ("Job Scheduling", dynamic resource allocation) and its
ExecutorAllocationManager, with the defaults of `spark.dynamicAllocation.*`: tasks that wait for
`schedulerBacklogTimeout` (1 s) bring one executor, then every `sustainedSchedulerBacklogTimeout`
(as long) two, four, eight more until none waits; never more than the pending and running tasks
fill. An executor without a task for `executorIdleTimeout` (60 s) is removed.

Deviations: a `Measurement` has no tasks, so they are reckoned from its batches. A batch is one
stage of `tasks` equal tasks (Spark's default of 200 shuffle partitions) on the slots there were;
the last wave is not waited for, so with w waves tasks were pending for (w - 1) / w of the batch.
When no batch has ended for longer than the trigger interval while rows were there, one still runs.
Requests are made at the end of a step, not within it. Executors beyond the tasks, and all of them
while nothing arrives, are idle; which one goes is the actuator's choice. The frequency stays at its
maximum.
"""

from math import ceil

from mpc.bounds import Bounds
from mpc.policies.batch_interval import BatchInterval
from mpc.policies.context import Context
from mpc.policies.full_speed import at_full_speed
from mpc.policies.spark_dra.options import SparkDraOptions
from mpc.values import Decision, Measurement

MOST_ROUNDS = 30
"""A thousand million executors; beyond, a long batch would only make a huge number."""


class SparkDraPolicy:
    def __init__(self, options: SparkDraOptions, context: Context) -> None:
        self._space = context.space
        self._step_s = context.step_s
        self._options = options
        self._batch_interval = BatchInterval(options.batch_interval_s, 0.0)
        self._silent_s = 0.0
        """How long no batch has ended although there were rows."""
        self._surplus_s = 0.0
        """How long there have been executors without a task."""
        self._idle_s = 0.0
        """How long there has been no batch."""

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        self._batch_interval.observe(measurement)
        executors, reason = self._wanted(measurement)
        return at_full_speed(measurement, bounds, executors, reason)

    def _wanted(self, measurement: Measurement) -> tuple[int, str]:
        current = measurement.requested.executors
        added = self._added(measurement)
        fillable = ceil(self._options.tasks / self._options.slots)
        # Between two batches Spark takes its target back to what runs; the next adds to that.
        asked = min(measurement.observed.executors + added, fillable)
        if added and asked > current:
            return asked, f"tasks were pending: {asked - current} more executors"
        if self._idle_s >= self._options.idle_timeout_s:
            return self._space.min_executors, "no batch for the idle time-out"
        self._surplus_s = self._surplus_s + self._step_s if current > fillable else 0.0
        if self._surplus_s >= self._options.idle_timeout_s:
            return fillable, "executors without a task for the idle time-out"
        return current, "no tasks pending for long, and no executor idle for long"

    def _added(self, measurement: Measurement) -> int:
        """The most that a batch of the step asked for. Also keeps the clocks of silence and
        idleness; a step that tells nothing is no evidence of either and stops them."""
        slots = measurement.observed.executors * self._options.slots
        if measurement.batches:
            self._silent_s = self._idle_s = 0.0
            return max(
                self._asked(batch.duration_s, batch.ran_on.executors * self._options.slots)
                for batch in measurement.batches
            )
        arrived, waiting = measurement.arrivals_per_s, measurement.backlog_items
        if arrived is None and waiting is None:
            return 0
        if (arrived or 0.0) > 0 or (waiting or 0.0) > 0 or self._silent_s > 0:
            self._idle_s = 0.0
            self._silent_s += self._step_s
            return self._asked(self._silent_s - self._batch_interval.seconds, slots)
        self._idle_s += self._step_s
        return 0

    def _asked(self, batch_s: float, slots: int) -> int:
        """1 + 2 + 4 + ... for every round in which tasks of the batch were still pending."""
        options = self._options
        waves = ceil(options.tasks / max(slots, 1))
        pending_s = batch_s * (waves - 1) / waves
        if pending_s < options.backlog_timeout_s:
            return 0
        sustained_s = pending_s - options.backlog_timeout_s
        rounds = 1 + int(min(sustained_s / options.sustained_timeout_s, MOST_ROUNDS - 1))
        return int(2**rounds) - 1
