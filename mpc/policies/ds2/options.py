"""`[policies.ds2]`. Defaults are those of Flink's `job.autoscaler.*`."""

from typing import Annotated

from msgspec import Meta, Struct

from mpc.policies.options import PositiveShare, SecondsInADay, Share


class Ds2Options(Struct, frozen=True, forbid_unknown_fields=True):
    """Flink's autoscaler: executors by the true processing rate of one."""

    target_utilisation: Annotated[
        PositiveShare, Meta(description="Utilisation of the executors to provision for.")
    ] = 0.7
    boundary: Annotated[
        Share, Meta(description="Distance from target_utilisation within which nothing changes.")
    ] = 0.3
    metrics_window_s: Annotated[
        SecondsInADay, Meta(description="Window over which rates are averaged.")
    ] = 900.0
    stabilisation_interval_s: Annotated[
        SecondsInADay, Meta(description="Time after a change in which measurements are ignored.")
    ] = 300.0
    scale_down_interval_s: Annotated[
        SecondsInADay,
        Meta(description="Time for which a scale-in must be wanted before it is made."),
    ] = 3600.0
    catch_up_duration_s: Annotated[
        SecondsInADay,
        Meta(description="Time in which a backlog is to be processed; 0 ignores backlogs."),
    ] = 1800.0
    restart_time_s: Annotated[
        SecondsInADay,
        Meta(description="Time without processing that a change is expected to cost."),
    ] = 300.0
    max_scale_down_factor: Annotated[
        Share, Meta(description="Largest share of the executors removed by one change.")
    ] = 0.6
    lag_threshold_s: Annotated[
        SecondsInADay,
        Meta(description="Backlog, in seconds of arrivals, above which nothing is scaled in."),
    ] = 300.0
