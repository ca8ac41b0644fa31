"""The one port between the control loop and what it controls.

`runtime.spark.cluster` implements it on a live Spark driver, the plants of `mpc.simulation` do in
simulated time, and the tests have a small one in memory; one suite runs over all of them.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

from mpc.events import Events
from mpc.values import Applied, Configuration, Measurement


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


class Cluster(Protocol):
    def measure(self, ran: Applied) -> tuple[Measurement, Events]:
        """The time since the last call, in which `ran` was requested and running."""
        ...

    def steer(self, target: Configuration) -> tuple[Applied, Events]:
        """Move towards the target; called at every step, also when it stays the same."""
        ...

    def watch(self) -> tuple[Applied, Events]:
        """What is requested and what runs. Touches nothing: no executor, no frequency."""
        ...


class LiveCluster(Cluster, Protocol):
    """A cluster in real time, which somebody else may end."""

    @property
    def most_executors(self) -> int | None:
        """What the cluster manager grants at most; None: unknown."""
        ...

    @property
    def sets_frequencies(self) -> bool: ...

    def details(self) -> ClusterDetails: ...

    def is_alive(self) -> bool:
        """False once the application has ended."""
        ...

    def close(self) -> None:
        """Give the hosts back as they were; executors stay."""
        ...
