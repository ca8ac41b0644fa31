"""How many executors one action adds or removes: static, linear or queue-aware.

Source: Azimi Gehraz 2018, section 4.2.5 (Table 4.3). It leaves the number that queue-aware adds
open; this is that of the author's published code: the waiting batches beyond those the target
allows, and at least the granularity. The waiting batches are derived from what is measured
(`waiting_batches`).
"""

from mpc.policies.q_learning.options import StrategyKind
from mpc.policies.q_learning.states import Action
from mpc.values import Measurement


class ExecutorStrategy:
    def __init__(self, kind: StrategyKind, granularity: int, tolerated_batches: int) -> None:
        if granularity < 1:
            raise ValueError(f"granularity must be at least 1, got {granularity}")
        self._kind = kind
        self._granularity = granularity
        self._tolerated_batches = tolerated_batches
        self._direction: Action | None = None
        self._repeated = 0

    def change(self, action: Action, waiting_batches: int) -> int:
        """Executors to add; negative to remove."""
        if action is Action.KEEP:
            return 0
        # A decision to keep does not end a series; only the opposite one does.
        self._repeated = self._repeated + 1 if action is self._direction else 1
        self._direction = action
        amount = self._granularity
        if self._kind == "linear":
            amount *= _linear(self._repeated)
        elif self._kind == "queue-aware" and action is Action.SCALE_OUT:
            amount = max(waiting_batches - self._tolerated_batches, amount)
        return amount if action is Action.SCALE_OUT else -amount


def _linear(repeated: int) -> int:
    """1, 2, 4, 6, 8, ... as the thesis counts."""
    return 1 if repeated == 1 else 2 * (repeated - 1)


def waiting_batches(measurement: Measurement, batch_interval_s: float) -> int:
    """Batches of one interval that wait: counted in items, or else by the time they waited.

    By Little's law rows that wait w seconds are w / interval batches; without a queue a row waits
    half an interval for its own batch, which rounds down to none.
    """
    arrivals_per_s = measurement.arrivals_per_s
    if measurement.backlog_items is not None and arrivals_per_s:
        batches = measurement.backlog_items / (arrivals_per_s * batch_interval_s)
    elif measurement.wait_s is not None:
        batches = measurement.wait_s / batch_interval_s
    else:
        return 0
    return int(min(batches, 1e9))
