"""The sliding window of measurements a decision rests on (`windowSize` of Azimi Gehraz 2018, Table
4.4).
"""

from collections import deque

from mpc.values import Measurement


class HistoryWindow:
    def __init__(self, window_s: float, arrivals_granularity_per_s: float | None) -> None:
        if window_s <= 0:
            raise ValueError(f"window_s must be positive, got {window_s}")
        self._window_s = window_s
        self._granularity_per_s = arrivals_granularity_per_s
        self._latencies_s: deque[tuple[float, float]] = deque()
        self._arrivals_per_s: deque[tuple[float, float]] = deque()
        self._before_per_s: float | None = None

    def add(self, measurement: Measurement) -> None:
        now_s = measurement.time_s
        if measurement.latency_s is not None:
            self._latencies_s.append((now_s, measurement.latency_s))
        if measurement.arrivals_per_s is not None:
            self._arrivals_per_s.append((now_s, measurement.arrivals_per_s))
        for samples in (self._latencies_s, self._arrivals_per_s):
            while samples and not now_s - self._window_s < samples[0][0] <= now_s:
                samples.popleft()

    @property
    def latency_s(self) -> float | None:
        return _mean(self._latencies_s)

    def compare_load(self) -> bool:
        """Whether the load rose since this was last asked, after rounding to the granularity.

        Unchanged counts as risen, the safe side: the thesis leaves it open, and its author's code
        takes it as fallen, which lets an agent sit out a constant overload.
        """
        now_per_s = _mean(self._arrivals_per_s)
        if now_per_s is None:
            return True
        if self._granularity_per_s:
            now_per_s = now_per_s // self._granularity_per_s
        before_per_s, self._before_per_s = self._before_per_s, now_per_s
        return before_per_s is None or now_per_s >= before_per_s


def _mean(samples: deque[tuple[float, float]]) -> float | None:
    if not samples:
        return None
    return sum(value for _, value in samples) / len(samples)
