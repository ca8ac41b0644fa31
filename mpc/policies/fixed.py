"""`peak` and `static-N`: the same configuration throughout.

Source: peak-load over-provisioning, De Matteis and Mencagli 2016, section 5.4. The paper still
rebalances the keys at every step, and so does this.
"""

from mpc.bounds import Bounds
from mpc.policies.routing import rebalanced
from mpc.values import Configuration, Decision, Measurement


class FixedPolicy:
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        target = bounds.nearest(self._configuration)
        owners = rebalanced(measurement, target.executors)
        return Decision(target, "fixed configuration", key_owners=owners)
