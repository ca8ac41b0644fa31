"""What the control loop needs of executors and hosts, as small as it can be.

`runtime.spark.attach` puts the live cluster behind these; tests put a few lines of Python.
"""

from collections.abc import Set
from dataclasses import dataclass
from typing import Protocol

from mpc.events import Event
from mpc.ports import Sensor
from runtime.control.journal import StartUpSamples


@dataclass(frozen=True, slots=True)
class Executors:
    """The executors of the application at one moment."""

    requested: int
    observed: int
    hosts: frozenset[str]
    """Where they run, as Spark names the hosts."""


class ExecutorPort(Protocol):
    @property
    def start_up_s(self) -> float:
        """Learned: from a request to an executor at full speed."""
        ...

    @property
    def start_up_samples(self) -> StartUpSamples: ...

    def request(self, executors: int) -> None:
        """What should run; `reconcile` does the rest, step by step."""
        ...

    def reconcile(self) -> Executors:
        """Compare, order what is missing, and tell what runs."""
        ...

    def look(self) -> Executors:
        """What runs, without touching anything."""
        ...

    def news(self) -> tuple[Event, ...]:
        """What happened since the last call."""
        ...


class FleetPort(Protocol):
    @property
    def frequency_khz(self) -> int | None:
        """In force on the hosts that run executors; None unless it is known."""
        ...

    def request(self, frequency_khz: int, busy_hosts: Set[str]) -> None:
        """Returns at once; the agents are told in the background."""
        ...

    def news(self) -> tuple[Event, ...]: ...

    def close(self) -> None:
        """Give the hosts back as they were."""
        ...


class LiveSensor(Sensor, Protocol):
    """A sensor that also tells about each query of the application."""

    @property
    def queries(self) -> tuple[dict[str, object], ...]:
        """Figures of the last step, for people."""
        ...

    def news(self) -> tuple[Event, ...]: ...
