"""The distribution table a policy sends along with its configuration (De Matteis and Mencagli 2016,
section 4.2).
"""

from mpc.balance import balanced, imbalance, warm_up
from mpc.values import FloatArray, IntArray, Measurement


def rebalanced(measurement: Measurement, executors: int) -> IntArray | None:
    """Algorithm 1 on the last measured weights; None where keys are not measured."""
    if measurement.key_frequencies is None or measurement.key_cost_cycles is None:
        return None
    return balanced(measurement.key_frequencies * measurement.key_cost_cycles, executors)


class SteadyRouting:
    """Balances by smoothed weights, and only when it must.

    One step's weights are mostly noise for rare keys, and every moved key waits in a pending
    buffer. So weights are averaged over many steps, and the table changes only with the number of
    executors or when the averaged loads have drifted apart.
    """

    def __init__(self, smoothing: float = 0.1, tolerated_imbalance: float = 1.03) -> None:
        warm_up()
        self._smoothing = smoothing
        self._tolerated_imbalance = tolerated_imbalance
        self._weights: FloatArray | None = None
        self._owners: IntArray | None = None
        self._executors = 0

    def table(self, measurement: Measurement, executors: int) -> IntArray | None:
        """The table in force, or a new one; in a step without a tuple, by the weights so far."""
        if measurement.key_frequencies is not None and measurement.key_cost_cycles is not None:
            weights = measurement.key_frequencies * measurement.key_cost_cycles
            if self._weights is None:
                self._weights = weights
            else:
                self._weights += self._smoothing * (weights - self._weights)
        if self._weights is None:
            return None
        if (
            self._owners is None
            or executors != self._executors
            or imbalance(self._weights, self._owners, executors) > self._tolerated_imbalance
        ):
            self._owners = balanced(self._weights, executors)
            self._executors = executors
        return self._owners
