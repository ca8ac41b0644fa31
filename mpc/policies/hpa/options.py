"""`[policies.hpa]`. Defaults are those of the controller manager and of `autoscaling/v2`."""

from mpc.options import Options, PositiveSecondsInAnHour, PositiveShare, SecondsInAnHour, option


class HpaOptions(Options):
    """Kubernetes' Horizontal Pod Autoscaler on CPU utilisation."""

    target_utilisation: PositiveShare = option(0.8, "CPU utilisation of the executors to keep.")
    tolerance: float = option(
        0.1, "Relative distance from target_utilisation within which nothing changes.", ge=0, lt=1
    )
    sync_period_s: PositiveSecondsInAnHour = option(15.0, "Time between two decisions.")
    scale_down_window_s: SecondsInAnHour = option(
        300.0, "Window whose highest recommendation limits a scale-in."
    )
    scale_up_window_s: SecondsInAnHour = option(
        0.0, "Window whose lowest recommendation limits a scale-out."
    )
    scale_up_share: float = option(
        1.0,
        "Executors that may be added in one scale_up_period_s, as a share of those at its start; "
        "scale_up_pods counts instead where it allows more.",
        ge=0,
        le=10,
    )
    scale_up_pods: int = option(
        4,
        "Executors that may be added in one scale_up_period_s; scale_up_share counts instead "
        "where it allows more.",
        "executors",
        ge=0,
        le=1000,
    )
    scale_up_period_s: PositiveSecondsInAnHour = option(
        15.0, "Period that scale_up_share and scale_up_pods refer to."
    )
