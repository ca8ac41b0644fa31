"""The power model of one host, learned from its own readings while it runs.

P = a + b f + c n f + d n f^3 with n busy cores, f in GHz and every coefficient at least 0: the
family of `energy.power.CalibratedPower`, fitted by recursive least squares on relative errors that
forgets slowly. What is kept is the 4 x 4 information matrix and its vector, so the small
non-negative problem is solved exactly after each reading.

A prior gives the shape of the model and the first readings its level. The fit is drawn to the prior
at that level, as if a few readings had confirmed each of its terms: a host that only ever ran at
one frequency says nothing about the others. Both are judged on readings they have not learned from
yet, and the fit is used from the moment its record is the better one.
"""

from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from energy.power import KHZ_PER_GHZ, CalibratedPower

FORGETTING = 0.998
"""A reading counts half after 350 more: fans, leakage and workloads change over a day, not a
minute."""
RECORD_FORGETTING = 0.98
"""Of the two track records: about the last fifty readings decide which model is used."""
FIRST_READINGS = 5
"""Readings that fix the level of the prior; their median is robust against two bad ones."""
SHAPE_DEVIATION = 0.25
"""Standard deviation of the terms of real hosts around those of the prior, relative to them. With
the error of the readings it says how strongly the fit is drawn to the prior (ridge regression,
Hoerl and Kennard 1970)."""
KNOWN_LEVEL_READINGS = 10
"""How many readings the level of a prior is worth that somebody gave in watts."""
FEWEST_JUDGED = 15
"""Readings on which the learned model must have been better before it is used."""
LEAST_SPREAD = 0.02
"""Relative error below which readings are not told apart; near the meters' own error."""
SPREAD_SMOOTHING = 0.05
OUTLIER = 3.0
"""A reading that is off by more than this many usual errors counts less, as its error grows: one
bad reading does not bend the model, a new level that stays is still learned."""

Kind = Literal["prior", "learned"]
FloatArray = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class PowerRecord:
    """How the two models did on readings they had not seen; None: too few of them yet."""

    readings: int
    prior_error: float | None
    learned_error: float | None

    @property
    def kind(self) -> Kind:
        """Which of the two is used."""
        if self.prior_error is None or self.learned_error is None:
            return "prior"
        return "learned" if self.learned_error < self.prior_error else "prior"

    @property
    def error(self) -> float | None:
        """Mean relative error of the model in use: 0.05 is 5 %."""
        return self.learned_error if self.kind == "learned" else self.prior_error


class OnlinePower:
    """Fed with readings in their order; deterministic."""

    def __init__(self, prior: CalibratedPower, in_watts: bool = True) -> None:
        """`in_watts`: whether the level of the prior means something, or only its shape."""
        self._shape = np.array(prior.coefficients)
        self._first: list[tuple[FloatArray, float]] = []
        self._level_readings = KNOWN_LEVEL_READINGS if in_watts else 0
        self._level = 1.0
        self._factors = np.ones(4)
        self._information = np.zeros((4, 4))
        self._moments = np.zeros(4)
        self._readings = 0
        self._spread = LEAST_SPREAD
        """The usual error, to which bad readings add no more than others."""
        self._judged = 0.0
        self._prior_error = 0.0
        self._learned_error = 0.0

    @property
    def readings(self) -> int:
        return self._readings

    @property
    def record(self) -> PowerRecord:
        if self._readings < FIRST_READINGS + FEWEST_JUDGED:
            return PowerRecord(self._readings, None, None)
        return PowerRecord(
            self._readings, self._prior_error / self._judged, self._learned_error / self._judged
        )

    @property
    def prior(self) -> CalibratedPower:
        """At the level of the readings."""
        return CalibratedPower(*(float(value) for value in self._level * self._shape))

    @property
    def learned(self) -> CalibratedPower:
        return CalibratedPower(*(float(value) for value in self._factors * self._shape))

    @property
    def model(self) -> CalibratedPower:
        """The one with the better record."""
        return self.learned if self.record.kind == "learned" else self.prior

    def learn(self, busy_cores: float, frequency_khz: float, power_w: float) -> None:
        """Judge both models by a reading, then learn from it. One that cannot be a power (none, or
        not finite) is left out: a counter that stood still."""
        values = (busy_cores, frequency_khz, power_w)
        if not np.isfinite(values).all() or power_w <= 0 or frequency_khz <= 0 or busy_cores < 0:
            return
        ghz = frequency_khz / KHZ_PER_GHZ
        parts_w = self._shape * np.array([1.0, ghz, busy_cores * ghz, busy_cores * ghz**3])
        if not parts_w.sum() > 0:
            return
        self._readings += 1
        if len(self._first) < FIRST_READINGS:
            self._begin(parts_w, power_w)
            return
        prior_w, learned_w = self._level * float(parts_w.sum()), float(self._factors @ parts_w)
        self._judged = RECORD_FORGETTING * self._judged + 1.0
        self._prior_error *= RECORD_FORGETTING
        self._prior_error += _error(prior_w, power_w)
        self._learned_error *= RECORD_FORGETTING
        self._learned_error += _error(learned_w, power_w)
        surprise = self._add(parts_w, power_w, learned_w if learned_w > 0 else prior_w)
        usual = min(max(surprise, LEAST_SPREAD), OUTLIER * self._spread)
        self._spread += SPREAD_SMOOTHING * (usual - self._spread)
        self._solve()

    def _begin(self, parts_w: FloatArray, power_w: float) -> None:
        """The level alone, until there are enough readings to tell a bad one from the others."""
        self._first.append((parts_w, power_w))
        ratios = [total_w / float(modelled_w.sum()) for modelled_w, total_w in self._first]
        self._level = median(ratios + [1.0] * self._level_readings)
        self._factors = np.full(4, self._level)
        if len(self._first) == FIRST_READINGS:
            for first_w, first_power_w in self._first:
                self._add(first_w, first_power_w, self._level * float(first_w.sum()))
            self._solve()

    def _add(self, parts_w: FloatArray, power_w: float, expected_w: float) -> float:
        """Learn from a reading; returns its relative distance from what was expected of it.

        Relative to what was expected and not to the reading: of two bad ones, the one that is far
        too low must not weigh more than the one that is far too high.
        """
        relative, wanted = parts_w / expected_w, power_w / expected_w
        surprise = abs(wanted - 1.0)
        weight = min(1.0, OUTLIER * self._spread / max(surprise, LEAST_SPREAD))
        self._information *= FORGETTING
        self._information += weight * np.outer(relative, relative)
        self._moments *= FORGETTING
        self._moments += weight * wanted * relative
        return surprise

    def _solve(self) -> None:
        known = float(self._level_readings)
        # The level that fits best: least squares of the prior as a whole.
        level = (self._moments.sum() + known) / (self._information.sum() + known)
        self._level = float(level)
        drawn = (self._spread / (SHAPE_DEVIATION * max(self._level, 1e-12))) ** 2
        self._factors = non_negative(
            self._information + drawn * np.eye(4), self._moments + drawn * self._level
        )


def _error(predicted_w: float, power_w: float) -> float:
    """Relative, and at most 1: no reading decides alone which of the models is used."""
    return min(float(abs(predicted_w / power_w - 1.0)), 1.0)


def non_negative(matrix: FloatArray, vector: FloatArray) -> FloatArray:
    """The x >= 0 that minimises x'Mx/2 - v'x, for a positive definite M: of all sets of terms that
    may be positive the one whose solution is, and which no other term would improve."""
    size = len(vector)
    for count in range(size, 0, -1):
        for chosen in combinations(range(size), count):
            rows = list(chosen)
            found = np.zeros(size)
            found[rows] = np.linalg.solve(matrix[np.ix_(rows, rows)], vector[rows])
            slope = matrix @ found - vector
            slope[rows] = 0.0
            if found.min() >= 0 and slope.min() >= -1e-9 * np.abs(vector).max():
                return found
    return np.zeros(size)
