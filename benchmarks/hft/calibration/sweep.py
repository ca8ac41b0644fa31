"""`sweep`: visits one configuration after the other, whatever it measures.

What a calibration needs: batches of many sizes on many configurations. The order jumps between
large and small, so that the load of the moment and the configuration are not confused.
"""

from mpc.bounds import Bounds
from mpc.values import Configuration, ConfigurationSpace, Decision, Measurement


class SweepPolicy:
    def __init__(self, space: ConfigurationSpace, dwell_s: float) -> None:
        """Every configuration is kept for `dwell_s`, counted from the first measurement."""
        if dwell_s <= 0:
            raise ValueError(f"dwell_s must be positive, got {dwell_s}")
        self._visits = visits(space)
        self._dwell_s = dwell_s
        self._begin_s: float | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        if self._begin_s is None:
            self._begin_s = measurement.time_s
        visit = int((measurement.time_s - self._begin_s) / self._dwell_s) % len(self._visits)
        target = bounds.nearest(self._visits[visit])
        return Decision(target, f"visit {visit + 1} of {len(self._visits)}")


def visits(space: ConfigurationSpace) -> tuple[Configuration, ...]:
    """Half and all of the executors, each at the lowest, a middle and the highest frequency.

    Executors change only once: a start takes long and says nothing about batches.
    """
    frequencies_khz = space.frequencies_khz
    chosen = dict.fromkeys(
        (frequencies_khz[-1], frequencies_khz[0], frequencies_khz[len(frequencies_khz) // 2])
    )
    counts = dict.fromkeys(
        (space.max_executors, max(space.min_executors, space.max_executors // 2))
    )
    return tuple(Configuration(n, khz) for n in counts for khz in chosen)
