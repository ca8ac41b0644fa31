"""From measured points to the `[power]` section of a configuration, with its error. Pure."""

from dataclasses import dataclass

import numpy as np

from energy.calibration import PowerPoint, calibrated, mape
from energy.power import CalibratedPower
from runtime.calibration.sweep import CannotCalibrate, Sweep, changed

FEWEST_POINTS = 5
"""One more than the model has coefficients."""


@dataclass(frozen=True, slots=True)
class Calibrated:
    """A host's model and how far it is off, as fractions."""

    sweep: Sweep
    model: CalibratedPower
    error: float
    """Mean over the points it was fitted to."""
    left_out_error: float
    """Mean over the points, each predicted by a model fitted to the others."""


def fitted(sweep: Sweep) -> Calibrated:
    points = sweep.points
    if len(points) < FEWEST_POINTS or not changed(points):
        raise CannotCalibrate(
            f"{len(points)} points with loads from "
            f"{min(point.executors for point in points):.2f} to "
            f"{max(point.executors for point in points):.2f} busy cores: the load did not change "
            "enough; measure for longer, or on a host with less other work"
        )
    model = calibrated(points)
    return Calibrated(sweep, model, mape(model, points), _left_out_error(points))


def cluster_model(model: CalibratedPower, hosts: int, executor_cores: int) -> CalibratedPower:
    """Of equal hosts whose executors have this number of busy cores each."""
    return CalibratedPower(
        base_w=hosts * model.base_w,
        per_ghz_w=hosts * model.per_ghz_w,
        per_executor_ghz_w=executor_cores * model.per_executor_ghz_w,
        per_executor_ghz3_w=executor_cores * model.per_executor_ghz3_w,
    )


def power_toml(result: Calibrated, hosts: int, executor_cores: int) -> str:
    """A file that `--config` takes, or whose section goes into another."""
    model = cluster_model(result.model, hosts, executor_cores)
    sweep = result.sweep
    return "\n".join(
        [
            f"# Power of {hosts} hosts like {sweep.host}, executors of {executor_cores} cores;",
            f"# {len(sweep.points)} points ({sweep.source}) by `foresight calibrate`: mean error "
            f"{result.error:.1%}, {result.left_out_error:.1%} at points left out.",
            "[power]",
            f"base_w = {model.base_w:.6g}",
            f"per_ghz_w = {model.per_ghz_w:.6g}",
            f"per_executor_ghz_w = {model.per_executor_ghz_w:.6g}",
            f"per_executor_ghz3_w = {model.per_executor_ghz3_w:.6g}",
            "",
        ]
    )


def _left_out_error(points: tuple[PowerPoint, ...]) -> float:
    errors = []
    for index, point in enumerate(points):
        others = points[:index] + points[index + 1 :]
        if len({other.executors for other in others}) > 1:
            errors.append(mape(calibrated(others), [point]))
    return float(np.mean(errors))
