"""When to try again what failed: after one period, then two, four, ... up to a bound.

Without jitter: every agent has one controller, so that there is no herd to spread.
"""


class Backoff:
    def __init__(self, first_s: float, longest_s: float) -> None:
        self._first_s = first_s
        self._longest_s = max(first_s, longest_s)
        self._wait_s = first_s
        self._due_s: float | None = None

    def is_due(self, now_s: float) -> bool:
        return self._due_s is None or now_s >= self._due_s

    def fail(self, now_s: float) -> None:
        self._due_s = now_s + self._wait_s
        self._wait_s = min(2 * self._wait_s, self._longest_s)

    def succeed(self) -> None:
        self._due_s, self._wait_s = None, self._first_s
