"""How well each forecaster predicts a series of arrival rates, and what it costs.

Every model runs once through the series behind the same interval tracker; all figures are taken
on the same points, all horizons pooled. Also the reader for the rate files that users bring.
"""

import gzip
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from forecasting.contract import FloatArray
from forecasting.intervals import IntervalForecaster
from forecasting.registry import make_forecaster

WARM_UP_STEPS = 10
"""The first forecasts rest on next to nothing; no model is judged by them."""
COVERAGE_LEVEL = 0.95
_SEPARATORS = ("|", ",", ";", "\t")


@dataclass(frozen=True, slots=True)
class ForecastRow:
    """One model on one series."""

    model: str
    mase: float
    """Mean absolute error relative to that of holding the last value."""
    under_fraction: float
    """Share of forecasts below what then came."""
    coverage_95: float
    """Share of values at or below their 95 % upper quantile."""
    ms_per_step: float
    """Update, forecast and quantile, refits included."""


def evaluate_forecasters(
    rates: FloatArray,
    models: Sequence[str],
    horizon: int = 10,
    progress: Callable[[str], None] | None = None,
) -> list[ForecastRow]:
    """One row a model, in the given order. NaN in `rates` is a gap."""
    needed = WARM_UP_STEPS + horizon + 1
    if len(rates) < needed:
        raise ValueError(f"a horizon of {horizon} needs at least {needed} rates, got {len(rates)}")
    reference = _absolute_error(_held_last(rates, horizon), rates)
    if not reference > 0.0:
        raise ValueError("the rates never change: there is nothing to forecast")
    rows = []
    for model in models:
        if progress is not None:
            progress(model)
        means, quantiles, seconds = _run(model, rates, horizon)
        errors = _errors(means, rates)
        exceeded = _errors(quantiles, rates)
        rows.append(
            ForecastRow(
                model=model,
                mase=float(np.abs(errors).mean()) / reference,
                under_fraction=float((errors > 0.0).mean()),
                coverage_95=float((exceeded <= 0.0).mean()),
                ms_per_step=1e3 * seconds / len(rates),
            )
        )
    return rows


def _run(model: str, rates: FloatArray, horizon: int) -> tuple[FloatArray, FloatArray, float]:
    """Mean and quantile paths by origin (row) and horizon, and the seconds they took."""
    forecaster = IntervalForecaster(make_forecaster(model), horizon, (COVERAGE_LEVEL,))
    means = np.full((len(rates), horizon), np.nan)
    quantiles = np.full((len(rates), horizon), np.nan)
    start_s = time.perf_counter()
    for origin, value in enumerate(rates.tolist()):
        forecaster.update(value)
        path = forecaster.forecast(horizon)
        quantile = forecaster.quantile(horizon, COVERAGE_LEVEL)
        if path is not None and quantile is not None:
            means[origin] = path
            quantiles[origin] = quantile
    return means, quantiles, time.perf_counter() - start_s


def _held_last(rates: FloatArray, horizon: int) -> FloatArray:
    """The last value there was, at every horizon."""
    known = np.where(np.isfinite(rates), np.arange(len(rates)), -1)
    latest = np.maximum.accumulate(known)
    held = np.where(latest >= 0, rates[latest], np.nan)
    return np.repeat(held[:, None], horizon, axis=1)


def _errors(paths: FloatArray, rates: FloatArray) -> FloatArray:
    """Actual minus forecast, over all origins after the warm-up and all horizons."""
    horizons = paths.shape[1]
    errors = np.concatenate(
        [
            rates[WARM_UP_STEPS + ahead :] - paths[WARM_UP_STEPS : len(rates) - ahead, ahead - 1]
            for ahead in range(1, horizons + 1)
        ]
    )
    return np.asarray(errors[np.isfinite(errors)])


def _absolute_error(paths: FloatArray, rates: FloatArray) -> float:
    errors = _errors(paths, rates)
    return float(np.abs(errors).mean()) if len(errors) else 0.0


def read_rates(path: Path | str, column: str | int | None = None) -> FloatArray:
    """The rates in a text file, one a line, plain or gzipped.

    Fields are separated by `|`, `,`, `;`, tabs or blanks, with or without a header line; a first
    line that only counts the others (as in the files of the MPC paper) is skipped. `column` is a
    name from the header or a position from 0; it may be left out with one column, or with two of
    which the first is the time. An empty field is a gap, NaN in the result; gaps at either end
    are cut off.
    """
    path = Path(path)
    lines = _read_lines(path)
    separator = next((mark for mark in _SEPARATORS if mark in lines[-1][1]), None)
    table = [(number, _split(text, separator)) for number, text in lines]
    if len(table) > 1 and table[0][1] == [str(len(table) - 1)] and len(table[1][1]) > 1:
        table = table[1:]
    fields = table[0][1]
    header = None if all(_number(field) is not None for field in fields[-1:]) else fields
    position = _position(path, column, header, len(fields))
    if header is not None:
        table = table[1:]
        if not table:
            raise ValueError(f"{path}: no rates below the header")
    rates = np.array([_rate(path, number, fields, position) for number, fields in table])
    known = np.flatnonzero(np.isfinite(rates))
    if not len(known):
        raise ValueError(f"{path}: column {position} holds no rates")
    return rates[known[0] : known[-1] + 1]


def _read_lines(path: Path) -> list[tuple[int, str]]:
    """Numbered lines that hold anything."""
    try:
        raw = path.read_bytes()
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8-sig")
    except FileNotFoundError:
        raise ValueError(f"{path}: no such file") from None
    except IsADirectoryError:
        raise ValueError(f"{path}: is a directory, expected a rate file") from None
    except (gzip.BadGzipFile, EOFError):
        raise ValueError(f"{path}: is named .gz but is not gzipped") from None
    except UnicodeDecodeError:
        raise ValueError(f"{path}: is not a text file") from None
    numbered = [(number, line.strip()) for number, line in enumerate(text.splitlines(), start=1)]
    lines = [(number, line) for number, line in numbered if line and not line.startswith("#")]
    if not lines:
        raise ValueError(f"{path}: is empty")
    return lines


def _split(line: str, separator: str | None) -> list[str]:
    return [field.strip().strip('"') for field in line.split(separator)]


def _number(field: str) -> float | None:
    try:
        return float(field)
    except ValueError:
        return None


def _position(path: Path, column: str | int | None, header: list[str] | None, columns: int) -> int:
    known = f"columns: {', '.join(header)}" if header is not None else f"{columns} columns"
    if column is None:
        if columns <= 2:
            return columns - 1
        raise ValueError(f"{path}: has {known}; say which one holds the rates")
    if header is not None and column in header:
        return header.index(str(column))
    try:
        position = int(column)
    except ValueError:
        raise ValueError(f"{path}: has no column {column!r}; it has {known}") from None
    if not 0 <= position < columns:
        raise ValueError(f"{path}: has no column {position}; it has {known}, counted from 0")
    return position


def _rate(path: Path, number: int, fields: list[str], position: int) -> float:
    if position >= len(fields):
        raise ValueError(
            f"{path}:{number}: has {len(fields)} fields, the rate should be in field {position + 1}"
        )
    if fields[position] == "":
        return math.nan
    rate = _number(fields[position])
    if rate is None or not math.isfinite(rate) or rate < 0.0:
        raise ValueError(
            f"{path}:{number}: {fields[position]!r} is not a rate; expected a number of at least 0"
        )
    return rate
