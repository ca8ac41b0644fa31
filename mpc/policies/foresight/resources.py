"""What every configuration uses: the resource term of the objective, and watts for its limits.

Busy cores draw power, not allocated executors. Of n executors at frequency f as many are at work as
the expected arrivals keep busy; the others are held and count with the idle share: a JVM, its
memory and a slot nobody else gets. So two configurations that do the same work differ by what they
hold and by the frequency they do it at.
"""

import numpy as np

from mpc.learned_power import LearnedPower, PowerFigure
from mpc.policies.context import Context
from mpc.policies.foresight.options import Cost
from mpc.values import FloatArray, Measurement


class ResourceTerm:
    """Tables (N, F) for the arrivals that `expect` was last told; before that, for full load."""

    def __init__(self, options: Cost, context: Context) -> None:
        space = context.space
        self._options = options
        self._idle_share = context.idle_share
        self._power = LearnedPower(context.power, context.power_in_watts)
        self._executors = space.executors.astype(np.float64)[:, None]
        self._frequencies_khz = np.asarray(space.frequencies_khz, dtype=np.float64)[None, :]
        self._full_load = self._executors + 0.0 * self._frequencies_khz
        self.power_w = self._power_of(self._full_load)
        """At the highest of the expected arrivals: what a cap or a budget must hold for."""
        self.cost = self._cost_of(self._full_load)

    @property
    def figure(self) -> PowerFigure:
        return self._power.figure

    def observe(self, measurement: Measurement) -> None:
        self._power.observe(measurement)

    def expect(self, arrivals_per_s: FloatArray, service_per_s: FloatArray) -> None:
        """Arrivals of every step of the horizon, and what each configuration serves (N, F)."""
        mean_per_s, highest_per_s = float(arrivals_per_s.mean()), float(arrivals_per_s.max())
        self.power_w = self._power_of(self._busy(highest_per_s / service_per_s))
        self.cost = self._cost_of(self._busy(mean_per_s / service_per_s))

    def _busy(self, utilisation: FloatArray) -> FloatArray:
        """Executors that count as busy; more than all of them cannot be."""
        at_work = np.clip(utilisation, 0.0, 1.0)
        return np.asarray(self._executors * (self._idle_share + (1.0 - self._idle_share) * at_work))

    def _power_of(self, busy: FloatArray) -> FloatArray:
        return self._power.model.power_w(busy, self._frequencies_khz)

    def _cost_of(self, busy: FloatArray) -> FloatArray:
        if self._options.resource == "power":
            used, most = self._power_of(busy), float(self._power_of(self._full_load).max())
        else:
            used, most = self._full_load, float(self._full_load.max())
        if self._options.scaling == "normalised":
            # By full load and not by the largest of now, or a weight would mean another thing at
            # night.
            used = used / most
        return np.asarray(self._options.weights.resource * used)
