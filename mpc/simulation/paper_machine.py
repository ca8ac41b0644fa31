"""The machine of the MPC paper (De Matteis and Mencagli 2016, section 5) as constants of the
simulation.

12 replicas and 1.2 to 2.0 GHz are the paper's. Two things it does not publish are set here.

*Service time.* One constant, the cycles of one aggregated quote in a window's regression, is
calibrated so that lat-node without switching cost averages the 9.66 replicas of the authors'
artifact on the random walk (`foresight bench paper-random-walk --policies lat-node-nosw` shows
it); everything else follows.

*Power.* The paper's optimiser uses Expr. 9, but its watts are read from the cores' RAPL counter.
The plant's truth is therefore the shape of measured sweeps, P ~ 0.168 phi + 0.576 x phi +
0.175 x phi^3 (the dynamic part of `energy.power.prior_power`: the core counter has no static
share), of the replicas and the three service threads, scaled to the artifact's 60.13 W.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from energy.power import CalibratedPower, prior_power
from mpc.values import ConfigurationSpace, FloatArray

MAX_REPLICAS = 12
SERVICE_THREADS = 3
SPACE = ConfigurationSpace(1, MAX_REPLICAS, tuple(range(1_200_000, 2_000_001, 100_000)))

CYCLES_PER_POINT = 1_453.0
"""Calibrated; see above. At 2 GHz and the random walk's mean window of 706 points: 0.513 ms."""

MEAN_SERVICE_S = 0.513e-3
CAPACITY_TUPLES_PER_S = MAX_REPLICAS / MEAN_SERVICE_S * 25
"""What 12 replicas at 2 GHz can take, in tuples of which every 25th triggers."""

_ARTIFACT_REPLICAS = 9.657
_ARTIFACT_POWER_W = 60.13


@dataclass(frozen=True, slots=True)
class CorePower:
    """Watts of the cores: replicas plus the service threads that always run."""

    model: CalibratedPower

    def power_w(self, executors: ArrayLike, frequency_khz: ArrayLike) -> FloatArray:
        threads = np.asarray(executors, dtype=np.float64) + SERVICE_THREADS
        return self.model.power_w(threads, frequency_khz)


def core_power() -> CorePower:
    whole = prior_power(MAX_REPLICAS + SERVICE_THREADS, SPACE.frequencies_khz[-1], 1.0)
    unit = CorePower(
        CalibratedPower(0.0, whole.per_ghz_w, whole.per_executor_ghz_w, whole.per_executor_ghz3_w)
    )
    watts = _ARTIFACT_POWER_W / float(unit.power_w(_ARTIFACT_REPLICAS, SPACE.frequencies_khz[-1]))
    return CorePower(
        CalibratedPower(
            0.0,
            whole.per_ghz_w * watts,
            whole.per_executor_ghz_w * watts,
            whole.per_executor_ghz3_w * watts,
        )
    )
