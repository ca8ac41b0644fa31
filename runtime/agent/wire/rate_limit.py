"""How often one caller may ask: a token bucket per name, for a bounded number of names."""

from collections import OrderedDict
from dataclasses import dataclass


@dataclass(slots=True)
class _Bucket:
    tokens: float
    at_s: float


class RateLimit:
    """Each name has `burst` requests at once and `requests_per_s` after that.

    Names beyond `most_callers` push out the one that has been quiet longest, which then starts
    with a full bucket again: memory is bounded, and only proven names come here.
    """

    def __init__(self, requests_per_s: float, burst: int, most_callers: int = 1024) -> None:
        if not requests_per_s > 0 or burst < 1 or most_callers < 1:
            raise ValueError(
                "requests_per_s, burst and most_callers must be positive, "
                f"got {requests_per_s}, {burst}, {most_callers}"
            )
        self._requests_per_s = requests_per_s
        self._burst = burst
        self._most_callers = most_callers
        self._buckets: OrderedDict[str, _Bucket] = OrderedDict()

    def __len__(self) -> int:
        return len(self._buckets)

    def take(self, name: str, now_s: float) -> float | None:
        """None: go ahead. Otherwise the seconds until the next request would be let through."""
        bucket = self._buckets.get(name)
        if bucket is None:
            bucket = self._buckets[name] = _Bucket(float(self._burst), now_s)
            if len(self._buckets) > self._most_callers:
                self._buckets.popitem(last=False)
        self._buckets.move_to_end(name)
        gained = max(0.0, now_s - bucket.at_s) * self._requests_per_s
        bucket.tokens = min(float(self._burst), bucket.tokens + gained)
        bucket.at_s = max(bucket.at_s, now_s)
        if bucket.tokens >= 1:
            bucket.tokens -= 1
            return None
        return (1 - bucket.tokens) / self._requests_per_s
