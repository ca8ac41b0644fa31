"""`parameter-search`: utilisation thresholds that are searched anew whenever the load changes.

Source: Heinze et al. 2015, as Azimi Gehraz 2018 describes it (section 6.1; thresholds as its
Algorithm 2, range and step of the breaches as its Table 5.10). An adaptive window watches the load;
when it changes, the recent history is replayed under other thresholds, each is priced by a
latency-aware cost, and recursive random search finds the cheapest.

Deviations: the seed gives no bounds for the thresholds, no cost and no grace period; here the upper
threshold lies in 0.5 to 0.95, the lower in 0.1 to 0.9 of it, the cost is executor-seconds plus, for
every second above the target, the price of the whole cluster (`violation_executors`), and the
breaches themselves space two changes. A latency above the target counts as a breach of the upper
threshold, else a backlog would hide behind a normal load. The replay is a fluid queue. One
executor, which one is the actuator's choice, comes or goes at a time; the frequency stays at its
maximum.
"""

from collections import deque
from dataclasses import dataclass

import numpy as np

from mpc.bounds import Bounds
from mpc.policies.adaptive_window import AdaptiveWindow
from mpc.policies.full_speed import at_full_speed
from mpc.policies.random_search import search
from mpc.values import ConfigurationSpace, Decision, FloatArray, Measurement

UPPER_RANGE = (0.5, 0.95)
LOWER_RANGE = (0.1, 0.9)
"""As a share of the upper threshold."""


@dataclass(frozen=True, slots=True)
class Thresholds:
    upper: float
    lower: float
    upper_breaches: int
    """Measurements in a row above the upper threshold before an executor is added."""
    lower_breaches: int


BEFORE_THE_FIRST_SEARCH = Thresholds(upper=0.8, lower=0.4, upper_breaches=2, lower_breaches=6)


@dataclass(frozen=True, slots=True)
class ParameterSearchParameters:
    target_latency_s: float
    step_s: float
    violation_executors: float
    min_breaches: int = 2
    max_breaches: int = 128
    breaches_step: int = 4
    confidence: float = 0.5
    """The delta of the adaptive window, as in the implementation the thesis compares with."""
    history_s: float = 1200.0
    evaluations: int = 200

    def __post_init__(self) -> None:
        if not (1 <= self.min_breaches <= self.max_breaches and self.breaches_step >= 1):
            raise ValueError(
                f"breaches must satisfy 1 <= min <= max with a step of at least 1, got "
                f"{self.min_breaches}..{self.max_breaches} step {self.breaches_step}"
            )
        if min(self.target_latency_s, self.step_s, self.history_s) <= 0 or self.evaluations < 1:
            raise ValueError(f"times must be positive and evaluations at least 1, got {self}")

    def thresholds(self, point: FloatArray) -> Thresholds:
        """A point of the unit cube as thresholds."""
        upper = UPPER_RANGE[0] + point[0] * (UPPER_RANGE[1] - UPPER_RANGE[0])
        share = LOWER_RANGE[0] + point[1] * (LOWER_RANGE[1] - LOWER_RANGE[0])
        return Thresholds(
            float(upper), float(upper * share), self._breaches(point[2]), self._breaches(point[3])
        )

    def point(self, thresholds: Thresholds) -> FloatArray:
        """The inverse of `thresholds`, up to the step of the breaches."""
        breaches = max(self.max_breaches - self.min_breaches, 1)
        coordinates = (
            (thresholds.upper - UPPER_RANGE[0]) / (UPPER_RANGE[1] - UPPER_RANGE[0]),
            (thresholds.lower / thresholds.upper - LOWER_RANGE[0])
            / (LOWER_RANGE[1] - LOWER_RANGE[0]),
            (thresholds.upper_breaches - self.min_breaches) / breaches,
            (thresholds.lower_breaches - self.min_breaches) / breaches,
        )
        return np.asarray(np.clip(coordinates, 0.0, 1.0))

    def _breaches(self, coordinate: float) -> int:
        steps = (self.max_breaches - self.min_breaches) / self.breaches_step
        return self.min_breaches + self.breaches_step * round(float(coordinate) * int(steps))


class BreachCounter:
    """Algorithm 2: how often in a row a threshold was breached, and what follows."""

    def __init__(self) -> None:
        self._above = 0
        self._below = 0

    def change(self, thresholds: Thresholds, utilisation: float, late: bool) -> int:
        """Executors to add (1), to remove (-1) or neither (0)."""
        above = late or utilisation > thresholds.upper
        self._above = self._above + 1 if above else 0
        self._below = self._below + 1 if not above and utilisation < thresholds.lower else 0
        if self._above >= thresholds.upper_breaches:
            self._above = 0
            return 1
        if self._below >= thresholds.lower_breaches:
            self._below = 0
            return -1
        return 0


class ParameterSearchPolicy:
    def __init__(
        self,
        space: ConfigurationSpace,
        parameters: ParameterSearchParameters,
        generator: np.random.Generator,
    ) -> None:
        self._space = space
        self._parameters = parameters
        self._generator = generator
        self._window = AdaptiveWindow(parameters.confidence)
        steps = max(round(parameters.history_s / parameters.step_s), 1)
        self._demands: deque[float] = deque(maxlen=steps)
        """Executors that the arrivals of each past step keep busy."""
        self._counter = BreachCounter()
        self.thresholds = BEFORE_THE_FIRST_SEARCH

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        current = measurement.requested.executors
        change, reason = 0, "no load measured"
        demand = demanded_executors(measurement, self._space.frequencies_khz[-1])
        late = (
            measurement.latency_s is not None
            and measurement.latency_s > self._parameters.target_latency_s
        )
        if demand is not None or late:
            if demand is not None:
                self._watch(demand, current)
            utilisation = 1.0 if demand is None else demand / max(current, 1)
            change = self._counter.change(self.thresholds, utilisation, late)
            reason = self._words(utilisation, late)
        return at_full_speed(measurement, bounds, current + change, reason)

    def _watch(self, demand: float, executors: int) -> None:
        self._demands.append(demand)
        if not self._window.add(demand / self._space.max_executors):
            return
        demands = np.asarray(self._demands)
        parameters = self._parameters

        def cost(point: FloatArray) -> float:
            return replayed_cost(
                demands, executors, parameters.thresholds(point), parameters, self._space
            )

        start = parameters.point(self.thresholds)
        found = search(cost, start, self._generator, parameters.evaluations)
        self.thresholds = parameters.thresholds(found)

    def _words(self, utilisation: float, late: bool) -> str:
        thresholds = self.thresholds
        load = f"utilisation {utilisation:.2f} of {thresholds.lower:.2f}..{thresholds.upper:.2f}"
        return f"{load}, latency above the target" if late else load


def demanded_executors(measurement: Measurement, frequency_khz: int) -> float | None:
    """Executors that the arrivals keep busy; by the cycles of an item, or by batch durations."""
    arrivals_per_s = measurement.arrivals_per_s
    if arrivals_per_s is None:
        return None
    if measurement.cost_cycles is not None:
        return arrivals_per_s * measurement.cost_cycles / (frequency_khz * 1e3)
    rows = sum(batch.rows for batch in measurement.batches)
    if rows == 0:
        return None
    busy_s = sum(batch.duration_s * batch.ran_on.executors for batch in measurement.batches)
    return arrivals_per_s * busy_s / rows


def replayed_cost(
    demands: FloatArray,
    executors: int,
    thresholds: Thresholds,
    parameters: ParameterSearchParameters,
    space: ConfigurationSpace,
) -> float:
    """Mean executors over the history, plus the price of the time above the target."""
    counter = BreachCounter()
    queue, total = 0.0, 0.0
    for demand in demands.tolist():
        queue = max(queue + (demand - executors) * parameters.step_s, 0.0)
        late = queue / executors > parameters.target_latency_s
        total += executors + (parameters.violation_executors if late else 0.0)
        executors += counter.change(thresholds, demand / executors, late)
        executors = min(max(executors, space.min_executors), space.max_executors)
    return total / len(demands)
