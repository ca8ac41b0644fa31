"""Latency of a micro-batch engine, learned as it runs: batch model plus its own track record.

The counterpart of `operator_latency` for Spark's default engine: overhead and row cost come from
the batches that finished, and the ratio of measured to modelled latency covers the rest.
"""

from collections import deque
from statistics import median

import numpy as np

from mpc.feedback import RatioFeedback
from mpc.micro_batch import (
    BatchCost,
    BatchCostEstimate,
    duration_s,
    micro_batch_latency_s,
    refined,
)
from mpc.queueing import utilisation
from mpc.values import BatchSample, ConfigurationSpace, FloatArray, Measurement

TRUSTED_BATCHES = 6
"""A model of fewer batches has no track record yet: its errors are those of a first guess, and
remembered they would make plans timid for minutes."""
COLD_BATCHES = 8
"""The last so many batches of executors that had only just started say how slow such ones are."""


class MicroBatchLatency:
    def __init__(self, space: ConfigurationSpace, step_s: float) -> None:
        self._space = space
        self._step_s = step_s
        self._trigger_interval_s: float | None = None
        """As last measured; None: back to back."""
        self._feedback = RatioFeedback()
        self._estimate: BatchCostEstimate | None = None
        self._learned_batches = 0
        self._cold_batches: deque[BatchSample] = deque(maxlen=COLD_BATCHES)

    @property
    def ready(self) -> bool:
        return self._estimate is not None

    @property
    def floor_s(self) -> float:
        """A row of an idle stream still waits for half a batch and then for its own."""
        idle = micro_batch_latency_s(
            np.zeros(1), self._cost, self._space, self._step_s, self._trigger_interval_s
        )
        return float(idle.min())

    @property
    def cold_excess_s(self) -> float:
        """How much longer a batch takes in which executors run their first tasks; by the model of
        now, as the first of them come before there is one."""
        if self._learned_batches < TRUSTED_BATCHES or not self._cold_batches:
            return 0.0
        excesses_s = [
            sample.duration_s - modelled_s
            for sample in self._cold_batches
            if (modelled_s := duration_s(self._cost, sample)) is not None
        ]
        return max(median(excesses_s), 0.0) if excesses_s else 0.0

    def service_per_s(self) -> FloatArray:
        """Rows a configuration can serve per second, (N, F)."""
        cycles = max(self._cost.row_cycles, 1.0)  # an estimate of zero would promise infinity
        return np.asarray(1.0 / utilisation(np.asarray(1.0), cycles, self._space))

    def observe(self, measurement: Measurement, had_backlog: bool) -> None:
        """Learn from one step. A latency behind an old backlog says nothing about the model, nor
        does a cold batch: few rows that took long would look like rows that cost nothing."""
        if measurement.trigger_interval_s is not None:
            self._trigger_interval_s = measurement.trigger_interval_s
        cold = any(sample.cold for sample in measurement.batches)
        for sample in measurement.batches:
            if sample.cold:
                self._cold_batches.append(sample)
            if self._estimate is None or not sample.cold:
                self._estimate = refined(self._estimate, sample)
                self._learned_batches += 1
        if (
            self._estimate is None
            or had_backlog
            or cold
            or measurement.latency_s is None
            or measurement.arrivals_per_s is None
        ):
            return
        modelled_s = self._modelled_s(np.asarray(measurement.arrivals_per_s))
        ran_at = self._space.index(measurement.observed)
        trusted = self._learned_batches >= TRUSTED_BATCHES
        self._feedback.update(measurement.latency_s, float(modelled_s[ran_at]), trusted)

    def predict_s(self, arrivals_per_s: FloatArray) -> FloatArray:
        """Latency for arrival scenarios (S, h): shape (S, h, N, F)."""
        ratios = self._feedback.scenario_ratios(len(arrivals_per_s))
        return np.asarray(ratios[:, None, None, None] * self._modelled_s(arrivals_per_s))

    def _modelled_s(self, arrivals_per_s: FloatArray) -> FloatArray:
        return micro_batch_latency_s(
            arrivals_per_s, self._cost, self._space, self._step_s, self._trigger_interval_s
        )

    @property
    def _cost(self) -> BatchCost:
        if self._estimate is None:
            raise RuntimeError("no batch measured yet; ask `ready` first")
        return self._estimate.cost
