"""M/D/1: the queue every instance of an operator is in Russo Russo 2018, section 4.

The input of an operator is split evenly over its instances (section 2), so each sees a share of
the rate with the full service time.
"""

import numpy as np

from mpc.values import FloatArray


def utilisation(
    arrivals_per_s: FloatArray, service_per_s: float, instances: FloatArray
) -> FloatArray:
    """U of every rate with every number of instances; shape (rates, instances)."""
    return np.divide.outer(arrivals_per_s / service_per_s, instances)


def md1_response_s(
    arrivals_per_s: FloatArray, service_per_s: float, instances: FloatArray
) -> FloatArray:
    """Mean time in the queue and in service, 1/mu * (1 + rho / (2 (1 - rho))); infinite where the
    instances cannot keep up. Shape (rates, instances)."""
    rho = utilisation(arrivals_per_s, service_per_s, instances)
    stable = rho < 1.0
    idle = np.where(stable, 1.0 - rho, 1.0)
    return np.where(stable, (1.0 + rho / (2.0 * idle)) / service_per_s, np.inf)
