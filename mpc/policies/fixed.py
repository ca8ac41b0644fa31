"""`peak` and `static-N`: the same configuration throughout.

Source: peak-load over-provisioning, De Matteis and Mencagli 2016, section 5.4. The paper still
rebalances the keys at every step, and so does this.
"""

from mpc.policies.routing import rebalanced
from mpc.values import Configuration, Decision, Measurement


class FixedPolicy:
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def decide(self, measurement: Measurement) -> Decision:
        return Decision(
            target=self._configuration,
            reason="fixed configuration",
            key_owners=rebalanced(measurement, self._configuration.executors),
        )
