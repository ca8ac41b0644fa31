"""What to replay and how fast: the options of the quotes source, checked, and the stream they make.

An application passes them as strings (`.option("rate", "wave")`) or builds a `Replay` and passes
`.options(**replay.options())`.
"""

import os
from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Literal

import msgspec
import numpy as np

from benchmarks.hft.stream.generate import generated_quotes
from benchmarks.hft.stream.quote_stream import QuoteStream
from benchmarks.hft.stream.quotes import RecordedQuotes, prepared_quotes
from benchmarks.hft.stream.schedule import MICROSECONDS_PER_S, RateSchedule, RecordedSchedule
from benchmarks.hft.stream.shapes import Shape, scheduled, shaped_rates
from benchmarks.workloads.keys import generated_key_frequencies, read_key_frequencies
from mpc.values import FloatArray
from runtime.rates import MARKET_CLOSE_MS, MARKET_OPEN_MS


class Replay(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    path: str | None = None
    """Recorded quotes (see `quotes`); without it they are generated."""
    rate: Literal["recorded"] | Shape | None = None
    """None: as recorded where there is a path, constant otherwise."""
    peak_per_s: float = 10_000.0
    """Highest mean of quotes/s over a second, unless the rate is the recorded one."""
    trough_per_s: float | None = None
    """Of a wave; None: a quarter of the peak."""
    period_s: float = 60.0
    """Of a wave."""
    acceleration: float = 1.0
    """Plays the schedule that many times faster, so its rates are that many times higher."""
    quotes: int | None = None
    """Ends after so many; None: at the end of the recording, or never."""
    session: Literal["regular", "all"] = "regular"
    """Of recorded quotes: from 9:30 to 16:00, or all of the file."""
    symbols: int | None = None
    """Of generated quotes: only so many, the most frequent ones."""
    frequencies: str | None = None
    """Of generated quotes: a file of symbol frequencies; without it, the paper's skew."""
    seed: int = 1
    partitions: int = 2
    """Tasks of a micro-batch at most; small ones get fewer."""
    max_rows_per_batch: int | None = None
    """Admission control; None: a micro-batch takes all that is due."""
    epoch_us: int | None = None
    """Wall time of the start, in microseconds since 1970; None: the next whole second."""
    cache: str | None = None
    """Folder of prepared recordings; None: the user's cache folder."""

    def __post_init__(self) -> None:
        if self.rate == "recorded" and self.path is None:
            raise ValueError('rate "recorded" needs a path')
        for name in ("quotes", "symbols", "partitions", "max_rows_per_batch"):
            value = getattr(self, name)
            if value is not None and value < 1:
                raise ValueError(f"{name} must be at least 1, got {value}")
        for name in ("peak_per_s", "period_s", "acceleration"):
            if not getattr(self, name) > 0:
                raise ValueError(f"{name} must be positive, got {getattr(self, name)}")
        if self.seed < 0:
            raise ValueError(f"seed must not be negative, got {self.seed}")
        if self.epoch_us is not None and self.epoch_us % MICROSECONDS_PER_S:
            raise ValueError(f"epoch_us must be a whole second, got {self.epoch_us}")

    @property
    def lowest_per_s(self) -> float:
        """Of a wave."""
        return self.peak_per_s / 4 if self.trough_per_s is None else self.trough_per_s

    def options(self) -> dict[str, str]:
        """For `.options(**…)` of a reader: every field that is set."""
        fields = msgspec.structs.asdict(self)
        return {name: str(value) for name, value in fields.items() if value is not None}

    def stream(self) -> QuoteStream:
        """Opens the recording and prepares it, if there is one."""
        if self.path is None:
            content = generated_quotes(self._frequencies(), self.seed)
            return QuoteStream(self._rates(), content, self.quotes)
        recording = self._recording(Path(self.path))
        own = self.rate is None or self.rate == "recorded"
        schedule = RecordedSchedule(recording, self.acceleration) if own else self._rates()
        count = recording.count
        return QuoteStream(schedule, recording, min(count, self.quotes or count))

    def _recording(self, path: Path) -> RecordedQuotes:
        recording = prepared_quotes(path, Path(self.cache) if self.cache else _user_cache())
        if self.session == "regular":
            recording = recording.between(MARKET_OPEN_MS * 1_000, MARKET_CLOSE_MS * 1_000)
        if recording.count == 0:
            raise ValueError(f"{path}: has no quotes between 9:30 and 16:00; try session=all")
        return recording

    def _rates(self) -> RateSchedule:
        shape = "constant" if self.rate is None or self.rate == "recorded" else self.rate
        rates = shaped_rates(shape, self.peak_per_s, self.lowest_per_s, self.period_s, self.seed)
        return scheduled(rates, self.acceleration)

    def _frequencies(self) -> FloatArray:
        path = self.frequencies
        found = read_key_frequencies(Path(path)) if path else generated_key_frequencies()
        return np.asarray(np.sort(found)[::-1][: self.symbols])


@lru_cache(maxsize=4)
def opened(replay: Replay) -> QuoteStream:
    """Its stream, made once per process."""
    return replay.stream()


def parsed(options: Mapping[str, str]) -> Replay:
    """From strings; a wrong or unknown option is an error that names it."""
    try:
        return msgspec.convert(dict(options), Replay, strict=False)
    except msgspec.ValidationError as error:
        raise ValueError(f"quotes source: {error}") from None


def _user_cache() -> Path:
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "foresight" / "quotes"
