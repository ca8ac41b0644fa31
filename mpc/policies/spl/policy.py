"""`spl`: expand while congested and while it helps, contract while it does not hurt.

Source: Gedik et al. 2014, as De Matteis and Mencagli 2016, section 5.5, describes it: a congestion
index, a memory of what each level brought, and forgetting when the load changes. Parameters of De
Matteis and Mencagli 2016: congestion 0.1, sensitivity 0.9.

Deviations: the original is given in prose there, not in full; this keeps one remembered throughput
and one remembered congestion per level and forgets them on the side where a load change made them
stale. Without a throughput, as while no batch tells one, there is nothing to compare and it stays
where it is. The frequency stays at its maximum.
"""

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.full_speed import at_full_speed
from mpc.policies.spl.options import SplOptions
from mpc.values import Decision, Measurement


class SplPolicy:
    def __init__(self, options: SplOptions, context: Context) -> None:
        del context  # Congestion and throughput are all it looks at.
        self._options = options
        self._throughput: dict[int, float] = {}
        self._congested: dict[int, bool] = {}
        self._previous_level: int | None = None

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        level = measurement.requested.executors
        wanted = level
        reason = "nothing to gain"
        throughput = measurement.completions_per_s
        if throughput is None or measurement.congestion is None:
            reason = "no throughput measured"
        else:
            congested = measurement.congestion > self._options.congestion_threshold
            if level == self._previous_level:
                self._forget_stale(level, throughput, congested)
            self._throughput[level] = throughput
            self._congested[level] = congested
            if congested and self._expansion_helps(level):
                wanted = level + 1
                reason = "congested, and more replicas may help"
            elif congested and self._gained_nothing(level):
                wanted = level - 1
                reason = "the last replica brought no throughput"
            elif not congested and not self._congested.get(level - 1, False):
                wanted = level - 1
                reason = "not congested, fewer replicas may do"
        self._previous_level = level
        return at_full_speed(measurement, bounds, wanted, reason)

    def _forget_stale(self, level: int, throughput: float, congested: bool) -> None:
        """A change at an unchanged level is a change of load: the memory on one side is void."""
        before = self._throughput.get(level)
        if before is None:
            return
        was_congested = self._congested[level]
        if (was_congested and not congested) or throughput < self._options.sensitivity * before:
            self._forget(below=level)
        if (congested and not was_congested) or throughput * self._options.sensitivity > before:
            self._forget(above=level)

    def _forget(self, below: int | None = None, above: int | None = None) -> None:
        for other in list(self._throughput):
            if (below is not None and other < below) or (above is not None and other > above):
                del self._throughput[other]
                del self._congested[other]

    def _expansion_helps(self, level: int) -> bool:
        """Unless it is known to be congested too, without more throughput."""
        above = self._throughput.get(level + 1)
        if above is None or not self._congested[level + 1]:
            return True
        return above * self._options.sensitivity > self._throughput[level]

    def _gained_nothing(self, level: int) -> bool:
        below = self._throughput.get(level - 1)
        return below is not None and below > self._options.sensitivity * self._throughput[level]
