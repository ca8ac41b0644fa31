"""`[policies.ds2]`. Defaults are those of Flink's `job.autoscaler.*`."""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import DAY_S


class Ds2Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Flink's autoscaler: executors by the true processing rate of one."""

    target_utilisation: Annotated[
        float, Meta(gt=0, le=1, description="Utilisation of the executors to provision for.")
    ] = 0.7
    boundary: Annotated[
        float,
        Meta(
            ge=0,
            le=1,
            description="Distance from target_utilisation within which nothing changes.",
        ),
    ] = 0.3
    metrics_window_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Window over which rates are averaged.",
            extra={"unit": "s"},
        ),
    ] = 900.0
    stabilisation_interval_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Time after a change in which measurements are ignored.",
            extra={"unit": "s"},
        ),
    ] = 300.0
    scale_down_interval_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Time for which a scale-in must be wanted before it is made.",
            extra={"unit": "s"},
        ),
    ] = 3600.0
    catch_up_duration_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Time in which a backlog is to be processed; 0 ignores backlogs.",
            extra={"unit": "s"},
        ),
    ] = 1800.0
    restart_time_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Time without processing that a change is expected to cost.",
            extra={"unit": "s"},
        ),
    ] = 300.0
    max_scale_down_factor: Annotated[
        float,
        Meta(ge=0, le=1, description="Largest share of the executors removed by one change."),
    ] = 0.6
    lag_threshold_s: Annotated[
        float,
        Meta(
            ge=0,
            le=DAY_S,
            description="Backlog, in seconds of arrivals, above which nothing is scaled in.",
            extra={"unit": "s"},
        ),
    ] = 300.0
