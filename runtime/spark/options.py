"""The Spark options that make scaling fast and spread the work over all executors.

Defaults for an application whose user has not set them otherwise; why each one is here stands
beside it.
"""

SCALING_OPTIONS: dict[str, str] = {
    # One allocator only.
    "spark.dynamicAllocation.enabled": "false",
    # A killed executor is gone after 0.1 s instead of 5 s.
    "spark.standalone.executorRemoveDelayOnDisconnection": "0s",
    # Decommissioning lets running tasks end; blocks move to the executors that stay.
    "spark.decommission.enabled": "true",
    "spark.storage.decommission.enabled": "true",
    "spark.storage.decommission.rddBlocks.enabled": "true",
    "spark.storage.decommission.shuffleBlocks.enabled": "true",
    # Over 30 s with the default.
    "spark.storage.decommission.replicationReattemptInterval": "1s",
    # With locality, the executors that came last stay idle.
    "spark.shuffle.reduceLocality.enabled": "false",
    "spark.locality.wait": "0s",
}
