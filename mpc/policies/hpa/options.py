"""`[policies.hpa]`. Defaults are those of the controller manager and of `autoscaling/v2`."""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import PositiveSecondsInAnHour, PositiveShare, SecondsInAnHour


class HpaOptions(Struct, frozen=True, forbid_unknown_fields=True):
    """Kubernetes' Horizontal Pod Autoscaler on CPU utilisation."""

    target_utilisation: Annotated[
        PositiveShare, Meta(description="CPU utilisation of the executors to keep.")
    ] = 0.8
    tolerance: Annotated[
        float,
        Meta(
            ge=0,
            lt=1,
            description="Relative distance from target_utilisation within which nothing changes.",
        ),
    ] = 0.1
    sync_period_s: Annotated[
        PositiveSecondsInAnHour, Meta(description="Time between two decisions.")
    ] = 15.0
    scale_down_window_s: Annotated[
        SecondsInAnHour, Meta(description="Window whose highest recommendation limits a scale-in.")
    ] = 300.0
    scale_up_window_s: Annotated[
        SecondsInAnHour, Meta(description="Window whose lowest recommendation limits a scale-out.")
    ] = 0.0
    scale_up_share: Annotated[
        float,
        Meta(
            ge=0,
            le=10,
            description="Executors that may be added in one scale_up_period_s, as a share of those "
            "at its start; scale_up_pods counts instead where it allows more.",
        ),
    ] = 1.0
    scale_up_pods: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Executors that may be added in one scale_up_period_s; scale_up_share "
            "counts instead where it allows more.",
            extra={"unit": "executors"},
        ),
    ] = 4
    scale_up_period_s: Annotated[
        PositiveSecondsInAnHour,
        Meta(description="Period that scale_up_share and scale_up_pods refer to."),
    ] = 15.0
