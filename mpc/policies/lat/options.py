"""Options of `lat-node-*` and `lat-power-*`: Table 2 of De Matteis and Mencagli 2016.

The name says what the resource is and how far is planned; a scenario of the paper sets the rest.
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from mpc.policies.options import PositiveShare


class LatOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """The predictive strategies of the MPC paper."""

    resource: Annotated[
        Literal["executors", "power"], Meta(description="What the resource term counts.")
    ] = "power"
    horizon_steps: Annotated[
        int, Meta(ge=1, le=60, description="Steps planned ahead.", extra={"unit": "steps"})
    ] = 1
    latency_weight: Annotated[float, Meta(gt=0, description="Weight of latency.")] = 2.0
    resource_weight: Annotated[float, Meta(ge=0, description="Weight of the resource in use.")] = (
        0.5
    )
    switching_weight: Annotated[
        float, Meta(ge=0, description="Weight of changing the configuration.")
    ] = 0.4
    utilisation_headroom: Annotated[
        PositiveShare, Meta(description="Utilisation at which an operator counts as saturated.")
    ] = 0.95
    feedback_memory: Annotated[
        int, Meta(ge=1, description="Past ratios of measured to predicted waits in the correction.")
    ] = 3
    forecast: Annotated[str, Meta(description="Forecasting model of the arrival rate.")] = "mean-3"
