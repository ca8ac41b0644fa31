"""What the controller needs of the outside: a policy that decides and a cluster that follows.

A live Spark cluster, the simulated plants and the cluster of the tests implement the same port, and
one suite runs over all of them.
"""

from typing import Protocol, runtime_checkable

from forecasting.memory import RateMemory
from mpc.bounds import Bounds
from mpc.events import Events
from mpc.values import Applied, Configuration, Decision, IntArray, Measurement


class Policy(Protocol):
    """Measurement and bounds in, decision out. Always a decision, whatever is missing.

    A policy plans within the bounds; whatever it decides is checked by the controller.
    """

    def decide(self, measurement: Measurement, bounds: Bounds) -> Decision: ...


@runtime_checkable
class Remembers(Protocol):
    """A policy with a memory of other days, which outlives it."""

    memory: RateMemory | None


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


class Plant(Cluster, Protocol):
    """A cluster in simulated time."""

    def wait_for_step(self) -> bool:
        """Simulate until the next step begins; False when there is none."""
        ...

    def steer(
        self, target: Configuration, key_owners: IntArray | None = None
    ) -> tuple[Applied, Events]:
        """`key_owners` is the distribution table of a plant that routes by key; None leaves the
        routing to the plant."""
        ...
