"""Arrival rates from the files that users bring: one rate a line, or the ticks of a market.

Files are read where the user has them; nothing is generated here.
"""

import gzip
import math
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
from pyarrow import parquet

from mpc.simulation.series import RateSeries
from mpc.values import FloatArray

MARKET_OPEN_MS = int(9.5 * 3_600_000)
MARKET_CLOSE_MS = 16 * 3_600_000
_SEPARATORS = ("|", ",", ";", "\t")


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


def read_equity_ticks(path: Path, acceleration: float = 100.0) -> RateSeries:
    """Quotes and trades of a regular session, counted per market second, played faster.

    The paper accelerates its trading day 100 times, too (section 5.1), which makes 6.5 hours
    234 s. Bins of one market second are 10 ms then, so bursts within a control step survive.
    """
    time_ms = parquet.read_table(path, columns=["ts_ms"]).column("ts_ms").to_numpy()
    seconds = (MARKET_CLOSE_MS - MARKET_OPEN_MS) // 1000
    counts = np.bincount(
        (time_ms[(time_ms >= MARKET_OPEN_MS) & (time_ms < MARKET_CLOSE_MS)] - MARKET_OPEN_MS)
        // 1000,
        minlength=seconds,
    )
    return RateSeries(counts.astype(np.float64) * acceleration, bin_s=1.0 / acceleration)


def session_clock_s(day: str) -> float:
    """When the regular session of a day (YYYYMMDD) begins. As the market's own clock has it, which
    it keeps all year: a profile of the day then has the open at one place."""
    midnight = datetime.strptime(day, "%Y%m%d").replace(tzinfo=UTC)
    return midnight.timestamp() + MARKET_OPEN_MS / 1e3


def averaged_to(values: FloatArray, most: int) -> FloatArray:
    """At most `most` values: means over equal stretches. Gaps are bridged by a straight line."""
    known = np.isfinite(values)
    if not known.any():
        raise ValueError("the rate file has no value")
    places = np.arange(len(values))
    filled = np.interp(places, places[known], values[known])
    stretch = -(-len(filled) // most)
    whole = len(filled) // stretch * stretch
    return np.asarray(filled[:whole].reshape(-1, stretch).mean(axis=1))


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
