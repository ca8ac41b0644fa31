"""Options of `lat-node-*` and `lat-power-*`: Table 2 of De Matteis and Mencagli 2016.

The name says what the resource is and how far is planned; a scenario of the paper sets the rest.
"""

from typing import Literal

from mpc.options import Options, PositiveShare, option


class LatOptions(Options):
    """The predictive strategies of the MPC paper."""

    resource: Literal["executors", "power"] = option("power", "What the resource term counts.")
    horizon_steps: int = option(1, "Steps planned ahead.", "steps", ge=1, le=60)
    latency_weight: float = option(2.0, "Weight of latency.", gt=0)
    resource_weight: float = option(0.5, "Weight of the resource in use.", ge=0)
    switching_weight: float = option(0.4, "Weight of changing the configuration.", ge=0)
    utilisation_headroom: PositiveShare = option(
        0.95, "Utilisation at which an operator counts as saturated."
    )
    feedback_memory: int = option(
        3, "Past ratios of measured to predicted waits in the correction.", ge=1
    )
    forecast: str = option("mean-3", "Forecasting model of the arrival rate.")
