"""Builders of `ds2`, `hpa`, `spark-dra` and `spark-ratio` from their options."""

import numpy as np

from mpc.policies.ds2 import Ds2Parameters, Ds2Policy
from mpc.policies.hpa import HpaParameters, HpaPolicy
from mpc.policies.spark_dra import SparkDraParameters, SparkDraPolicy
from mpc.policies.spark_ratio import SparkRatioPolicy
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.config.policies.peers import Ds2, Hpa, SparkDra, SparkRatio


def ds2_policy(
    options: Ds2,
    space: ConfigurationSpace,
    _target_latency_s: float,
    step_s: float,
    _generator: np.random.Generator,
) -> Policy:
    parameters = Ds2Parameters(
        target_utilisation=options.target_utilisation,
        boundary=options.boundary,
        metrics_window_s=options.metrics_window_s,
        stabilisation_interval_s=options.stabilisation_interval_s,
        scale_down_interval_s=options.scale_down_interval_s,
        catch_up_duration_s=options.catch_up_duration_s,
        restart_time_s=options.restart_time_s,
        max_scale_down_factor=options.max_scale_down_factor,
        lag_threshold_s=options.lag_threshold_s,
    )
    return Ds2Policy(space, step_s, parameters)


def hpa_policy(
    options: Hpa,
    space: ConfigurationSpace,
    _target_latency_s: float,
    step_s: float,
    _generator: np.random.Generator,
) -> Policy:
    parameters = HpaParameters(
        target_utilisation=options.target_utilisation,
        tolerance=options.tolerance,
        sync_period_s=options.sync_period_s,
        scale_down_window_s=options.scale_down_window_s,
        scale_up_window_s=options.scale_up_window_s,
        scale_up_share=options.scale_up_share,
        scale_up_pods=options.scale_up_pods,
        scale_up_period_s=options.scale_up_period_s,
    )
    return HpaPolicy(space, step_s, parameters)


def spark_dra_policy(
    options: SparkDra,
    space: ConfigurationSpace,
    _target_latency_s: float,
    step_s: float,
    _generator: np.random.Generator,
) -> Policy:
    parameters = SparkDraParameters(
        backlog_timeout_s=options.backlog_timeout_s,
        sustained_timeout_s=options.sustained_timeout_s,
        idle_timeout_s=options.idle_timeout_s,
        tasks=options.tasks,
        slots=options.slots,
        batch_interval_s=options.batch_interval_s,
    )
    return SparkDraPolicy(space, step_s, parameters)


def spark_ratio_policy(
    options: SparkRatio,
    space: ConfigurationSpace,
    _target_latency_s: float,
    step_s: float,
    _generator: np.random.Generator,
) -> Policy:
    return SparkRatioPolicy(
        space,
        options.batch_interval_s or step_s,
        options.scaling_interval_s,
        options.upper,
        options.lower,
    )
