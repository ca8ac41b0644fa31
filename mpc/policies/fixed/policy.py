"""`peak` and `static-N`: the same configuration throughout.

Source: peak-load over-provisioning, De Matteis and Mencagli 2016, section 5.4. The paper still
rebalances the keys at every step, and so does this. It looks at nothing, so that no silence, loss
or overload moves it.
"""

from mpc.bounds import Bounds
from mpc.policies.context import Context
from mpc.policies.fixed.options import PeakOptions, StaticOptions
from mpc.policies.routing import rebalanced
from mpc.values import Configuration, Decision, Measurement


class FixedPolicy:
    def __init__(self, configuration: Configuration) -> None:
        self._configuration = configuration

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision:
        target = bounds.nearest(self._configuration)
        owners = rebalanced(measurement, target.executors)
        return Decision(target, "fixed configuration", key_owners=owners)


def peak_policy(_options: PeakOptions, context: Context) -> FixedPolicy:
    return FixedPolicy(context.space.largest)


def static_policy(options: StaticOptions, context: Context) -> FixedPolicy:
    return FixedPolicy(Configuration(options.executors, context.space.frequencies_khz[-1]))
