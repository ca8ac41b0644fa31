"""Options of the policies that users run elsewhere: Flink's autoscaler, Kubernetes' HPA and Spark's
own two. Every default is the one of its source; what each does is told with the policy.
"""

from typing import Annotated

from msgspec import Meta, Struct

_DAY_S = 86_400.0
_BATCH_INTERVAL = "Trigger interval of the query."


class Ds2(Struct, frozen=True, forbid_unknown_fields=True):
    """Flink's autoscaler: executors by the true processing rate of one."""

    target_utilisation: Annotated[
        float, Meta(gt=0, le=1, description="Utilisation to provision for.")
    ] = 0.7
    boundary: Annotated[
        float,
        Meta(ge=0, le=1, description="Nothing changes while utilisation is this near the target."),
    ] = 0.3
    metrics_window_s: Annotated[
        float,
        Meta(ge=0, le=_DAY_S, description="Rates are means over this time.", extra={"unit": "s"}),
    ] = 900.0
    stabilisation_interval_s: Annotated[
        float,
        Meta(
            ge=0,
            le=_DAY_S,
            description="After a change nothing is measured for this time.",
            extra={"unit": "s"},
        ),
    ] = 300.0
    scale_down_interval_s: Annotated[
        float,
        Meta(ge=0, le=_DAY_S, description="A scale-in waits this long.", extra={"unit": "s"}),
    ] = 3600.0
    catch_up_duration_s: Annotated[
        float,
        Meta(
            ge=0,
            le=_DAY_S,
            description="Time to process a backlog in; 0 leaves backlogs out of the account.",
            extra={"unit": "s"},
        ),
    ] = 1800.0
    restart_time_s: Annotated[
        float,
        Meta(
            ge=0,
            le=_DAY_S,
            description="Time without processing that a change is provisioned for.",
            extra={"unit": "s"},
        ),
    ] = 300.0
    max_scale_down_factor: Annotated[
        float, Meta(ge=0, le=1, description="Largest share of the executors removed at once.")
    ] = 0.6
    lag_threshold_s: Annotated[
        float,
        Meta(
            ge=0,
            le=_DAY_S,
            description="With more lag than this nothing is scaled in.",
            extra={"unit": "s"},
        ),
    ] = 300.0


class Hpa(Struct, frozen=True, forbid_unknown_fields=True):
    """Kubernetes' Horizontal Pod Autoscaler on CPU utilisation."""

    target_utilisation: Annotated[
        float, Meta(gt=0, le=1, description="CPU utilisation to keep.")
    ] = 0.8
    tolerance: Annotated[
        float, Meta(ge=0, lt=1, description="Relative distance from it that changes nothing.")
    ] = 0.1
    sync_period_s: Annotated[
        float, Meta(gt=0, le=3600, description="Time between decisions.", extra={"unit": "s"})
    ] = 15.0
    scale_down_window_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="A scale-in goes to the highest wish of this time.",
            extra={"unit": "s"},
        ),
    ] = 300.0
    scale_up_window_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="A scale-out goes to the lowest wish of this time.",
            extra={"unit": "s"},
        ),
    ] = 0.0
    scale_up_share: Annotated[
        float, Meta(ge=0, le=10, description="Share of the executors added at most in a period.")
    ] = 1.0
    scale_up_pods: Annotated[
        int,
        Meta(
            ge=0,
            le=1000,
            description="Executors added at most in a period, where that is more.",
            extra={"unit": "executors"},
        ),
    ] = 4
    scale_up_period_s: Annotated[
        float, Meta(gt=0, le=3600, description="The period of the two.", extra={"unit": "s"})
    ] = 15.0


class SparkDra(Struct, frozen=True, forbid_unknown_fields=True):
    """Spark's core dynamic allocation: executors for tasks that wait."""

    backlog_timeout_s: Annotated[
        float,
        Meta(gt=0, le=3600, description="Tasks wait so long before one.", extra={"unit": "s"}),
    ] = 1.0
    sustained_timeout_s: Annotated[
        float,
        Meta(gt=0, le=3600, description="And so long before twice as many.", extra={"unit": "s"}),
    ] = 1.0
    idle_timeout_s: Annotated[
        float,
        Meta(
            gt=0,
            le=_DAY_S,
            description="An executor without a task goes after this time.",
            extra={"unit": "s"},
        ),
    ] = 60.0
    tasks: Annotated[
        int,
        Meta(ge=1, le=1_000_000, description="Tasks of one batch.", extra={"unit": "tasks"}),
    ] = 200
    slots: Annotated[
        int,
        Meta(
            ge=1,
            le=1000,
            description="Tasks that one executor runs at a time.",
            extra={"unit": "tasks"},
        ),
    ] = 1
    batch_interval_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description=f"{_BATCH_INTERVAL} 0: back to back.",
            extra={"unit": "s"},
        ),
    ] = 0.0


class SparkRatio(Struct, frozen=True, forbid_unknown_fields=True):
    """The ratio of processing time to batch interval, as Spark Streaming scaled itself."""

    batch_interval_s: (
        Annotated[
            float,
            Meta(
                gt=0,
                le=3600,
                description=_BATCH_INTERVAL,
                extra={"unit": "s", "absent": "the control step", "example": 10.0},
            ),
        ]
        | None
    ) = None
    scaling_interval_s: Annotated[
        float, Meta(gt=0, le=3600, description="Time between decisions.", extra={"unit": "s"})
    ] = 60.0
    upper: Annotated[float, Meta(gt=0, le=10, description="Ratio that adds executors.")] = 0.6
    lower: Annotated[float, Meta(ge=0, le=10, description="Ratio that removes one.")] = 0.3
