"""Latency of a micro-batch engine, learned as it runs: batch model plus its own track record.

The counterpart of `operator_latency` for Spark's default engine: the constants and their
variability come from the batches that finished, and the ratio of measured to modelled latency
covers the rest.
"""

from collections import deque

import numpy as np

from mpc.batch_cost import BatchCost, BatchCostEstimate, duration_s, refined
from mpc.cost_tables import batch_costs, capacities_of
from mpc.feedback import RatioFeedback
from mpc.latency_curve import LatencyCurve
from mpc.micro_batch import BatchModel, micro_batch_latency_s
from mpc.queueing import utilisation
from mpc.values import BatchSample, ConfigurationSpace, FloatArray, IntArray, Measurement

TRUSTED_BATCHES = 6
"""A model of fewer batches has no track record yet: its errors are those of a first guess, and
remembered they would make plans timid for minutes."""
COLD_BATCHES = 8
"""Batches of executors that had only just started, the most recent ones, which say how slow such
executors are."""
COLD_QUANTILE = 0.75
"""Of what those took longer: there must be room for more than every other one. A new executor that
came in the middle of a batch has hardly a part in it, which makes some of them short."""


class MicroBatchLatency:
    def __init__(
        self, space: ConfigurationSpace, step_s: float, quantile: float | None = None
    ) -> None:
        """`quantile`: judged is the latency that this share of the rows keeps; None: the mean."""
        self._space = space
        self._capacities = capacities_of(space)
        self._step_s = step_s
        self._quantile = quantile
        self._arrival_dispersion = 0.0
        self._trigger_interval_s: float | None = None
        """As last measured; None: back to back."""
        self._feedback = RatioFeedback()
        self._estimate: BatchCostEstimate | None = None
        self._learned_batches = 0
        self._last_batch_s: float | None = None
        self._cold_batches: deque[BatchSample] = deque(maxlen=COLD_BATCHES)

    @property
    def ready(self) -> bool:
        return self._estimate is not None

    @property
    def floor_s(self) -> float:
        """A row of an idle stream still waits for half a batch and then for its own."""
        return float(micro_batch_latency_s(np.zeros(1), self.model, self._space).min())

    @property
    def model(self) -> BatchModel:
        """What a configuration is judged by, without the correction by its track record."""
        return self._cost.model(
            self._step_s, self._trigger_interval_s, self._arrival_dispersion, self._quantile
        )

    def scenario_ratios(self, scenarios: int) -> FloatArray:
        """Corrections of the model, one a scenario: what was measured over what it said.

        The spread of the steps' means around it is that of single batches, which a quantile has in
        it already.
        """
        if self._quantile is not None:
            return np.full(scenarios, self._feedback.ratio)
        return self._feedback.scenario_ratios(scenarios)

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
        return max(float(np.quantile(excesses_s, COLD_QUANTILE)), 0.0) if excesses_s else 0.0

    def service_per_s(self) -> FloatArray:
        """Rows a configuration can serve per second, (N, F)."""
        cycles = max(self._cost.row_cycles, 1.0)  # an estimate of zero would promise infinity
        return np.asarray(1.0 / utilisation(np.asarray(1.0), cycles, self._space))

    def observe(self, measurement: Measurement, had_backlog: bool) -> None:
        """Learn from one step. A latency behind an old backlog says nothing about the model, nor
        does a cold batch: few rows that took long would look like rows that cost nothing."""
        if measurement.trigger_interval_s is not None:
            self._trigger_interval_s = measurement.trigger_interval_s
        if measurement.arrival_dispersion is not None:
            self._arrival_dispersion = max(measurement.arrival_dispersion, 0.0)
        cold = any(sample.cold for sample in measurement.batches)
        for sample in measurement.batches:
            if sample.cold:
                self._cold_batches.append(sample)
            if self._estimate is None or not sample.cold:
                self._estimate = refined(self._estimate, sample)
                self._learned_batches += 1
        modelled_s = self._modelled_s(measurement)
        if (
            modelled_s is None
            or had_backlog
            or cold
            or measurement.latency_s is None
            or measurement.latency_kind == "at least"
        ):
            return
        trusted = self._learned_batches >= TRUSTED_BATCHES
        self._feedback.update(measurement.latency_s, modelled_s, trusted)

    def _modelled_s(self, measurement: Measurement) -> float | None:
        """Mean latency of the rows of a step, by the model; None: nothing to say it of.

        Where batches ended in the step it is theirs, of their rows, which came while the batch
        before them ran, and of what they ran on. By the rate of now every batch of a falling load
        would look slow, and every one of a rising load fast.
        """
        before_s, rows, latencies_s = self._last_batch_s, 0, 0.0
        if measurement.batches:
            self._last_batch_s = measurement.batches[-1].duration_s
        if self._estimate is None:
            return None
        for sample in measurement.batches:
            batch_s = duration_s(self._cost, sample)
            if before_s is not None and batch_s is not None:
                gathering_s = max(before_s, self._trigger_interval_s or 0.0)
                rows += sample.rows
                latencies_s += sample.rows * (gathering_s / 2.0 + batch_s)
            before_s = sample.duration_s
        if rows:
            return latencies_s / rows
        if measurement.arrivals_per_s is None:
            return None
        # The measured latency is a mean, whatever is judged.
        model = self.model._replace(quantile=0.0)
        modelled_s = micro_batch_latency_s(
            np.asarray(measurement.arrivals_per_s), model, self._space
        )
        return float(modelled_s[self._space.index(measurement.observed)])

    def predict_s(self, arrivals_per_s: FloatArray) -> FloatArray:
        """Latency for arrival scenarios (S, h): shape (S, h, N, F)."""
        ratios = self.scenario_ratios(len(arrivals_per_s))[:, None, None, None]
        return np.asarray(ratios * micro_batch_latency_s(arrivals_per_s, self.model, self._space))

    def mean_cost(
        self,
        arrivals_per_s: FloatArray,
        ratios: FloatArray,
        most_active: IntArray,
        curve: LatencyCurve,
    ) -> FloatArray:
        """(h, N, F): mean of the curve over `predict_s` of the scenarios (S, h)."""
        return batch_costs(arrivals_per_s, ratios, self.model, self._capacities, most_active, curve)

    @property
    def _cost(self) -> BatchCost:
        if self._estimate is None:
            raise RuntimeError("no batch measured yet; ask `ready` first")
        return self._estimate.cost
