"""The threshold-based local policy: replicas by their CPU utilisation.

Source: Cardellini et al. 2018, section 5.1. One replica more when a replica's utilisation exceeds
the target U_s-out; one fewer when the average utilisation of the remaining ones would stay below c
U_s-out. The score is the normalised excess or slack. c = 0.75 is the paper's; of its U_s-out (0.3
to 0.7) the default is the usual 0.7: the low ones fit the bursts of its query, as it says itself.

Deviation: where several replicas exceed the target, the score is that of the busiest; the paper
does not say which. Utilisation is of completed work, so that a batch that does not end has none and
changes nothing.
"""

from mpc.policies.edf.options import EdfThresholdOptions
from mpc.policies.edf.values import OperatorSample, Proposal, kept


class ThresholdScaling:
    def __init__(self, options: EdfThresholdOptions, min_replicas: int, max_replicas: int) -> None:
        self._options = options
        self._min_replicas = min_replicas
        self._max_replicas = max_replicas

    def propose(self, sample: OperatorSample) -> Proposal:
        if not sample.utilisations:
            return kept("no utilisation measured")
        target = self._options.scale_out_utilisation
        busiest = max(sample.utilisations)
        if busiest > target and sample.replicas < self._max_replicas:
            score = (min(busiest, 1.0) - target) / (1.0 - target)
            return Proposal(1, score, f"utilisation {busiest:.2f} above {target:g}")
        if sample.replicas > max(self._min_replicas, 1):
            low = self._options.scale_in_fraction * target
            remaining = sum(sample.utilisations) / (sample.replicas - 1)
            if remaining < low:
                reason = f"utilisation {remaining:.2f} with one replica fewer, below {low:.3g}"
                return Proposal(-1, (low - remaining) / low, reason)
        return kept(f"utilisation {busiest:.2f} within the band")
