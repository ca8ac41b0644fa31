"""`[policies.ds2]`. Defaults are those of Flink's `job.autoscaler.*`."""

from mpc.options import Options, PositiveShare, SecondsInADay, Share, option


class Ds2Options(Options):
    """Flink's autoscaler: executors by the true processing rate of one."""

    target_utilisation: PositiveShare = option(
        0.7, "Utilisation of the executors to provision for."
    )
    boundary: Share = option(0.3, "Distance from target_utilisation within which nothing changes.")
    metrics_window_s: SecondsInADay = option(900.0, "Window over which rates are averaged.")
    stabilisation_interval_s: SecondsInADay = option(
        300.0, "Time after a change in which measurements are ignored."
    )
    scale_down_interval_s: SecondsInADay = option(
        3600.0, "Time for which a scale-in must be wanted before it is made."
    )
    catch_up_duration_s: SecondsInADay = option(
        1800.0, "Time in which a backlog is to be processed; 0 ignores backlogs."
    )
    restart_time_s: SecondsInADay = option(
        300.0, "Time without processing that a change is expected to cost."
    )
    max_scale_down_factor: Share = option(
        0.6, "Largest share of the executors removed by one change."
    )
    lag_threshold_s: SecondsInADay = option(
        300.0, "Backlog, in seconds of arrivals, above which nothing is scaled in."
    )
