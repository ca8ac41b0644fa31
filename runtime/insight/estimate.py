"""What a recorded step would have been like in another configuration: estimated, never measured.

The constants of the micro-batch model are learned from the recorded batches as the steps go by, as
the policy learns them. Batch by batch, D = o + (w + B * c) / (n * f) with the rows that arrived
since the batch before, the recorded and the other configuration are followed through
every step, overloads and their backlog included. The measured latency is then scaled by what the
model says of both, and the measured power by what the power model says of them, so that what the
models do not know cancels out: where both are the same, the estimate is the measurement.
"""

from dataclasses import dataclass, replace

from energy.power import PowerModel
from mpc.batch_cost import BatchCost, BatchCostEstimate, refined
from mpc.feedback import LARGEST_RATIO, SMALLEST_RATIO
from mpc.values import BatchSample, Configuration, Measurement

MOST_BATCHES = 50
"""Of one step; after so many the rest of it is like the last of them."""


@dataclass(frozen=True, slots=True)
class StepEstimate:
    """One step in the other configuration."""

    latency_s: float | None
    """None where the recorded step has none, or nothing was learned yet."""
    power_w: float
    """In watts, or in shares of the full power where watts are not known."""


class BatchFlow:
    """Batches one after the other on one configuration after the other."""

    def __init__(self) -> None:
        self._period_s: float | None = None
        """From the begin of the last batch to that of the next."""
        self._left_s = 0.0
        self._latency_s = 0.0

    def step_latency_s(
        self,
        ran_on: Configuration,
        arrivals_per_s: float,
        cost: BatchCost,
        step_s: float,
        interval_s: float,
    ) -> float:
        """Mean latency of the rows whose batches begin in this step; of the last one if none."""
        service_per_s = _service_per_s(cost, ran_on)
        fixed_s = cost.fixed_s(_speed_hz(ran_on))
        # It finds the stream as it would be with what ran first.
        period_s = max(fixed_s, interval_s) if self._period_s is None else self._period_s
        self._left_s += step_s
        weighted_s, begun_s = 0.0, 0.0
        for _ in range(MOST_BATCHES):
            if self._left_s <= 0:
                break
            took_s = fixed_s + arrivals_per_s * period_s / service_per_s
            self._latency_s = period_s / 2.0 + took_s
            weighted_s += self._latency_s * period_s
            begun_s += period_s
            period_s = max(took_s, interval_s, 1e-3)
            self._left_s -= period_s
        else:
            self._left_s = 0.0
        self._period_s = period_s
        return weighted_s / begun_s if begun_s > 0 else self._latency_s


class StepEstimator:
    """Fed with the recorded steps in their order."""

    def __init__(self, power: PowerModel, step_s: float) -> None:
        self._power = power
        self._step_s = step_s
        self._cost: BatchCostEstimate | None = None
        self._interval_s = 0.0
        self._recorded, self._other = BatchFlow(), BatchFlow()
        self._parted = False
        """Whether the two have ever run differently: until then both are the same stream."""

    def estimate(self, recorded: Measurement, other: Configuration) -> StepEstimate:
        """The recorded step, had it run in the other configuration."""
        for batch in recorded.batches:
            self._cost = refined(self._cost, batch)
        if recorded.trigger_interval_s is not None:
            self._interval_s = recorded.trigger_interval_s
        self._parted |= other != recorded.observed
        power_w = self._scaled_power_w(recorded, other)
        if self._cost is None or recorded.arrivals_per_s is None:
            return StepEstimate(recorded.latency_s, power_w)
        load = (recorded.arrivals_per_s, self._cost.cost, self._step_s, self._interval_s)
        recorded_s = self._recorded.step_latency_s(recorded.observed, *load)
        other_s = self._other.step_latency_s(other, *load)
        if recorded.latency_s is None or not self._parted:
            return StepEstimate(recorded.latency_s, power_w)
        ratio = recorded.latency_s / max(recorded_s, 1e-9)
        return StepEstimate(min(max(ratio, SMALLEST_RATIO), LARGEST_RATIO) * other_s, power_w)

    def measurement(
        self,
        recorded: Measurement,
        estimate: StepEstimate,
        requested: Configuration,
        observed: Configuration,
    ) -> Measurement:
        """What would have been measured: the recorded step as long as nothing has differed."""
        if not self._parted:
            return replace(recorded, requested=requested)
        backlog_items = recorded.backlog_items
        if backlog_items is not None and recorded.latency_s and estimate.latency_s is not None:
            backlog_items *= estimate.latency_s / recorded.latency_s  # Little's law
        return replace(
            recorded,
            requested=requested,
            observed=observed,
            latency_s=estimate.latency_s,
            late_share=None,
            oldest_wait_s=None,  # of rows that the other run may have served by then
            backlog_items=backlog_items,
            batches=tuple(self._on(batch, observed) for batch in recorded.batches),
            power_w=None if recorded.power_w is None else estimate.power_w,
            power_source="modelled",
        )

    def _on(self, batch: BatchSample, other: Configuration) -> BatchSample:
        """The same rows on another configuration."""
        if self._cost is None or batch.ran_on == other:
            return replace(batch, ran_on=other)
        took_s = _batch_s(self._cost.cost, batch.rows, batch.ran_on)
        takes_s = _batch_s(self._cost.cost, batch.rows, other)
        scale = takes_s / took_s if took_s > 0 else 1.0
        return BatchSample(batch.rows, batch.duration_s * scale, other)

    def _scaled_power_w(self, recorded: Measurement, other: Configuration) -> float:
        modelled_w = self._power_w(other)
        if recorded.power_w is None:
            return modelled_w
        own_w = self._power_w(recorded.observed)
        return recorded.power_w * modelled_w / own_w if own_w > 0 else modelled_w

    def _power_w(self, configuration: Configuration) -> float:
        return float(self._power.power_w(configuration.executors, configuration.frequency_khz))


def _batch_s(cost: BatchCost, rows: float, ran_on: Configuration) -> float:
    return cost.fixed_s(_speed_hz(ran_on)) + rows / _service_per_s(cost, ran_on)


def _service_per_s(cost: BatchCost, ran_on: Configuration) -> float:
    return _speed_hz(ran_on) / max(cost.row_cycles, 1.0)


def _speed_hz(ran_on: Configuration) -> float:
    return max(ran_on.executors, 1) * ran_on.frequency_khz * 1e3
