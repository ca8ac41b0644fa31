"""A rate over time. Apart from `trace`, so that Spark's workers read it without its compiler."""

from dataclasses import dataclass

from mpc.values import FloatArray


@dataclass(frozen=True, slots=True)
class TraceClock:
    """When a trace was recorded, and how much faster it is played."""

    begin_s: float
    """Seconds since 1970 in UTC."""
    speed: float = 1.0

    def at(self, time_s: float) -> float:
        return self.begin_s + time_s * self.speed


@dataclass(frozen=True, slots=True)
class RateSeries:
    """Tuples per second, constant within bins of `bin_s`."""

    tuples_per_s: FloatArray
    bin_s: float

    @property
    def duration_s(self) -> float:
        return len(self.tuples_per_s) * self.bin_s

    def scaled_to_peak(self, peak_tuples_per_s: float, over_s: float) -> "RateSeries":
        """Scale so that the highest mean over windows of `over_s` is `peak_tuples_per_s`."""
        bins = max(1, round(over_s / self.bin_s))
        whole = len(self.tuples_per_s) // bins * bins
        peak = self.tuples_per_s[:whole].reshape(-1, bins).mean(axis=1).max()
        if peak <= 0:
            raise ValueError("cannot scale a rate series that is zero everywhere")
        return RateSeries(self.tuples_per_s * (peak_tuples_per_s / peak), self.bin_s)
