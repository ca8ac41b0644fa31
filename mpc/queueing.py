"""Queueing model of a continuous operator: utilisation, waiting time and overload.

Waits follow Kingman's formula (Kingman 1961; De Matteis and Mencagli 2016, Expr. 7). It has a pole
at utilisation one, so it is continued by its tangent, and what exceeds the capacity queues up as a
fluid: the result is finite everywhere, rises with arrivals and falls with executors and frequency.

Every function works on whole grids: arrivals of any shape give tables of that shape + (N, F).
"""

import numpy as np

from mpc.values import ConfigurationSpace, FloatArray, IntArray

TANGENT_UTILISATION = 0.98


def utilisation(
    arrivals_per_s: FloatArray, cost_cycles: FloatArray | float, space: ConfigurationSpace
) -> FloatArray:
    """rho = lambda * C / (n * f)."""
    capacity_hz = np.multiply.outer(space.executors.astype(np.float64), space.frequencies_hz)
    return np.multiply.outer(arrivals_per_s * cost_cycles, 1.0 / capacity_hz)


def service_time_s(cost_cycles: FloatArray | float, space: ConfigurationSpace) -> FloatArray:
    """Expr. 3: T = C / f; shape costs.shape + (1, F), the same for any number of executors."""
    return np.multiply.outer(cost_cycles, 1.0 / space.frequencies_hz[None, :])


def kingman_wait_s(
    utilisation: FloatArray, service_s: FloatArray, arrival_cv: float, cost_cv: float
) -> FloatArray:
    """Expr. 7: rho/(1-rho) * (ca^2+cs^2)/2 * T."""
    return _congestion(utilisation) * ((arrival_cv**2 + cost_cv**2) / 2.0) * service_s


def partitioned_wait_s(
    utilisation: FloatArray,
    service_s: FloatArray,
    executors: IntArray,
    arrival_dispersion: float,
    cost_cv: float,
) -> FloatArray:
    """Wait when every replica queues for itself, as replicas that own their keys do.

    The random part of the arrivals (dispersion 1, a Poisson stream) is split over the replicas,
    so each is a queue with the full service time T. What clusters beyond that are bursts of the
    whole stream: they hit all replicas at once and drain n times as fast, like Expr. 7's pooled
    queue with the dispersion in place of ca^2.
    """
    random_part = (min(arrival_dispersion, 1.0) + cost_cv**2) / 2.0
    bursts = max(arrival_dispersion - 1.0, 0.0) / 2.0 / executors[:, None]
    return _congestion(utilisation) * (random_part + bursts) * service_s


def overload_delay_s(utilisation: FloatArray, step_s: float) -> FloatArray:
    """Mean extra delay of a step that starts empty and gets more than it can serve.

    The backlog grows by (lambda - mu) each second, so the delay by (rho - 1): half of the step's
    growth on average.
    """
    return np.asarray(np.maximum(utilisation - 1.0, 0.0) * step_s / 2.0)


def _congestion(utilisation: FloatArray) -> FloatArray:
    """rho / (1 - rho), continued by its tangent above 0.98."""
    edge = TANGENT_UTILISATION
    below = np.minimum(utilisation, edge)
    tail = np.maximum(utilisation - edge, 0.0) / (1.0 - edge) ** 2
    return np.asarray(below / (1.0 - below) + tail)
