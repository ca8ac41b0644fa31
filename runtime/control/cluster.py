"""The port between the control loop and a cluster in real time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mpc.ports import Cluster
from runtime.fleet.targets import HostFrequencies


@dataclass(frozen=True, slots=True)
class StartUpSamples:
    """The latest start-up times of executors, from which a restarted controller learns on."""

    registered_s: tuple[float, ...] = ()
    warmed_s: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class ClusterDetails:
    """What a cluster knows besides the measurement of a step, for the journal."""

    queries: tuple[Mapping[str, Any], ...] = ()
    """Figures of each streaming query, for people."""
    start_up: StartUpSamples = StartUpSamples()


class LiveCluster(Cluster, Protocol):
    """Implemented by `runtime.spark.cluster`; somebody else may end it."""

    @property
    def most_executors(self) -> int | None:
        """What the cluster manager grants at most; None: unknown."""
        ...

    @property
    def host_frequencies(self) -> tuple[HostFrequencies, ...]:
        """What the hosts offer whose frequencies are set; none: nobody sets any."""
        ...

    def details(self) -> ClusterDetails: ...

    def is_alive(self) -> bool:
        """False once the application has ended."""
        ...

    def close(self) -> None:
        """Give the hosts back as they were; executors stay."""
        ...
