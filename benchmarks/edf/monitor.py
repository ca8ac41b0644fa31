"""The figures of Table 1 of Cardellini et al. 2018 from what was measured round by round.

Response times are means over 10 s (the paper does not name its interval). As in section 9, moments
in the warm-up and shortly after a reconfiguration are left out.
"""

from collections.abc import Sequence

import numpy as np

from benchmarks.edf.choices import Figures
from benchmarks.edf.plant import Round
from benchmarks.edf.query import TARGET_S
from mpc.values import FloatArray

MONITORED_S = 10.0


class Monitor:
    def __init__(self, length_s: float) -> None:
        moments = int(length_s / MONITORED_S)
        self._length_s = length_s
        self._sums_s = np.zeros(moments)
        self._counts = np.zeros(moments)
        self.replicas: list[int] = []

    def add(self, record: Round, replicas: int) -> None:
        moments = (record.finished_s / MONITORED_S).astype(np.int64)
        # A result that leaves after the end was begun before it.
        within = moments < len(self._sums_s)
        np.add.at(self._sums_s, moments[within], record.response_s[within])
        np.add.at(self._counts, moments[within], 1.0)
        self.replicas.append(replicas)

    def figures(
        self, warm_up_s: float, changes_s: Sequence[float], downtime_s: float, excluded_s: float
    ) -> Figures | None:
        """`changes_s`: when reconfigurations began, each taking `downtime_s`. None when no moment
        was undisturbed."""
        times_s = np.arange(len(self._sums_s)) * MONITORED_S
        counted = (times_s >= warm_up_s) & (self._counts > 0)
        for change_s in changes_s:
            counted &= (times_s < change_s) | (times_s >= change_s + downtime_s + excluded_s)
        if not counted.any():
            return None
        response_ms = self._sums_s[counted] / self._counts[counted] * 1e3
        down_s = downtime_s * sum(change_s >= warm_up_s for change_s in changes_s)
        rounds = np.asarray(self.replicas, dtype=np.float64)
        replicas: FloatArray = rounds[
            (times_s[counted] * len(rounds) / self._length_s).astype(np.int64)
        ]
        return Figures(
            mean_ms=float(response_ms.mean()),
            p50_ms=float(np.quantile(response_ms, 0.5)),
            p95_ms=float(np.quantile(response_ms, 0.95)),
            replicas=float(replicas.mean()),
            downtime_percent=100.0 * down_s / (self._length_s - warm_up_s),
            violation_percent=100.0 * float((response_ms > TARGET_S * 1e3).mean()),
        )

    def unmet_percent(self, warm_up_s: float) -> float:
        """Share of all moments after the warm-up, disturbed ones too, with a response time over
        the target or without any result."""
        first = round(warm_up_s / MONITORED_S)
        met = self._sums_s[first:] <= TARGET_S * self._counts[first:]
        return 100.0 * float(1.0 - (met & (self._counts[first:] > 0)).mean())
