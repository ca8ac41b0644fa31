"""How well the power models predict a measured sweep, and from how many calibration points.

A sweep is a table as in DanieleDeSensi/nornir: a header line that starts with "#", then workers,
frequency (kHz), time, watts and bandwidth, separated by blanks. Time and bandwidth are not used.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from energy.calibration import (
    PowerPoint,
    calibrated,
    mape,
    proportional,
    spread,
)
from energy.cpufreq.turbo import TURBO_MARK_KHZ
from energy.power import prior_power

PowerModelName = Literal["proportional", "prior", "calibrated"]

COLUMNS = ("Workers", "Frequency", "Time", "Watts", "Bandwidth")
CALIBRATION_SIZES = (7, 12)


class SweepError(ValueError):
    """The sweep file cannot be used; the message names file, line and what is expected."""


@dataclass(frozen=True, slots=True)
class PowerRow:
    model: PowerModelName
    calibration_points: int
    mape: float


def read_sweep(path: Path) -> tuple[PowerPoint, ...]:
    """Every point of the sweep but turbo."""
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise SweepError(f"{path}: cannot be read ({error})") from error
    points: dict[tuple[int, int], PowerPoint] = {}
    for number, line in enumerate(lines, start=1):
        if not line.strip() or line.startswith("#"):
            continue
        point = _point(line, f"{path}:{number}")
        place = (int(point.executors), point.frequency_khz)
        if place in points:
            raise SweepError(
                f"{path}:{number}: workers {place[0]} at {place[1]} kHz is there twice"
            )
        points[place] = point
    frequencies_khz = sorted({khz for _, khz in points})
    if len({workers for workers, _ in points}) < 2 or len(frequencies_khz) < 2:
        raise SweepError(
            f"{path}: needs two worker counts and two frequencies or more, has {len(points)} points"
        )
    has_turbo = frequencies_khz[-1] - frequencies_khz[-2] == TURBO_MARK_KHZ
    return tuple(
        point
        for point in points.values()
        if not (has_turbo and point.frequency_khz == frequencies_khz[-1])
    )


def power_rows(sweep: Path) -> list[PowerRow]:
    """Error over the whole sweep of each model, by the number of points it was told.

    The prior and the first proportional row know full load only. The last of each fit has seen
    every point it is judged on: the limit of what the model's form can do.
    """
    points = read_sweep(sweep)
    by_place = {(int(point.executors), point.frequency_khz): point for point in points}

    def measured(count: int) -> list[PowerPoint]:
        return [by_place[place] for place in spread(list(by_place), count)]

    full = measured(1)[0]
    prior = prior_power(int(full.executors), full.frequency_khz, full.power_w)
    rows = [
        PowerRow("proportional", 1, mape(proportional([full]), points)),
        PowerRow("prior", 1, mape(prior, points)),
    ]
    for count in (*(size for size in CALIBRATION_SIZES if size < len(points)), len(points)):
        known = measured(count)
        rows.append(PowerRow("proportional", count, mape(proportional(known), points)))
        rows.append(PowerRow("calibrated", count, mape(calibrated(known), points)))
    return rows


def _point(line: str, where: str) -> PowerPoint:
    words = line.split()
    if len(words) != len(COLUMNS):
        raise SweepError(
            f"{where}: {len(words)} columns, expected {len(COLUMNS)}: {' '.join(COLUMNS)}"
        )
    try:
        return PowerPoint(int(words[0]), int(words[1]), float(words[3]))
    except ValueError as error:
        raise SweepError(f"{where}: {error}") from error
