"""Applies decisions to a cluster: the executor count to Spark, the frequency to the agents.

In mode "advise" it looks and touches nothing. Requested and observed are compared at every step,
also when the decision stays the same.
"""

from typing import Literal

from mpc.events import Event
from mpc.values import Applied, Configuration, Decision
from runtime.control.ports import ExecutorPort, Executors, FleetPort


class ClusterActuator:
    def __init__(
        self,
        executors: ExecutorPort,
        fleet: FleetPort | None,
        mode: Literal["control", "advise"],
        highest_khz: int,
        requested_khz: int | None = None,
    ) -> None:
        """`highest_khz`: what hosts run at that nobody has capped. `requested_khz`: what an
        earlier run asked for last, from which this one goes on."""
        self._executors = executors
        self._fleet = fleet
        self._mode = mode
        self._highest_khz = highest_khz
        self._frequency_khz = highest_khz if requested_khz is None else requested_khz
        self.current = self._seen(executors.look())
        """What was requested and observed last."""

    def look(self) -> Applied:
        """What is requested and runs now, without touching anything."""
        self.current = self._seen(self._executors.look())
        return self.current

    def apply(self, decision: Decision) -> Applied:
        if self._mode == "advise":
            return self.look()
        target = decision.target
        self._executors.request(target.executors)
        seen = self._executors.reconcile()
        if self._fleet is not None:
            self._fleet.request(target.frequency_khz, seen.hosts)
        self._frequency_khz = target.frequency_khz
        self.current = self._seen(seen)
        return self.current

    def news(self) -> tuple[Event, ...]:
        """What happened to executors and agents since the last call."""
        return self._executors.news() + (() if self._fleet is None else self._fleet.news())

    def close(self) -> None:
        """Executors stay as they are; hosts get their own frequencies back."""
        if self._fleet is not None:
            self._fleet.close()

    def _seen(self, executors: Executors) -> Applied:
        frequency_khz = None if self._fleet is None else self._fleet.frequency_khz
        observed_khz = self._highest_khz if frequency_khz is None else frequency_khz
        observed = Configuration(executors.observed, observed_khz)
        if self._mode == "advise":
            return Applied(requested=observed, observed=observed)
        return Applied(Configuration(executors.requested, self._frequency_khz), observed)
