"""The power of a cluster, learned host by host from what the agents measure.

Every host has a model of its own (`energy.online_power`), of its busy cores and its clock. The
cluster draws their sum: executors are taken to be spread evenly over the hosts, as Spark spreads
them, and what else keeps a host busy goes on doing so. A host that reports no energy is taken to be
like the mean of those that do. Until one of them has, there is only the prior.
"""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from energy.online_power import OnlinePower
from energy.power import KHZ_PER_GHZ, CalibratedPower, PowerModel
from mpc.values import FloatArray, HostReading, Measurement, PowerSource

OTHER_SMOOTHING = 0.1
"""Weight of the last step in what everything else on a host keeps busy."""
PowerOrigin = Literal["modelled", "learned"]


@dataclass(frozen=True, slots=True)
class ClusterPower:
    """Power of busy executors at a frequency, as the sum over the hosts."""

    base_w: float
    per_ghz_w: float
    per_ghz3_w: float
    """Of cores that something else keeps busy."""
    per_executor_ghz_w: float
    per_executor_ghz3_w: float

    def power_w(self, executors: ArrayLike, frequency_khz: ArrayLike) -> FloatArray:
        ghz = np.asarray(frequency_khz, dtype=np.float64) / KHZ_PER_GHZ
        busy = np.asarray(executors, dtype=np.float64)
        hosts_w = self.base_w + self.per_ghz_w * ghz + self.per_ghz3_w * ghz**3
        executor_w = self.per_executor_ghz_w * ghz + self.per_executor_ghz3_w * ghz**3
        return np.asarray(hosts_w + busy * executor_w)


@dataclass(slots=True)
class _Host:
    model: OnlinePower
    other_cores: float = 0.0
    source: PowerSource = "modelled"


@dataclass(frozen=True, slots=True)
class PowerFigure:
    """How the power of the next configurations is known."""

    origin: PowerOrigin
    source: PowerSource
    """Of the readings; modelled: there are none."""
    error: float | None
    """Mean relative error on readings that the model had not seen; None: not known yet."""
    learned_hosts: int
    hosts: int

    @property
    def words(self) -> str:
        if self.origin == "modelled":
            return "modelled"
        error = "" if self.error is None else f", {self.error:.1%} off"
        of = "" if self.source == "measured" else f" from {self.source} readings"
        return f"learned{of}{error} ({self.learned_hosts} of {self.hosts} hosts)"


@dataclass(slots=True)
class LearnedPower:
    """`prior`: of the whole cluster by busy executors, in watts or, without `in_watts`, in shares
    of a power nobody knows."""

    prior: PowerModel
    in_watts: bool
    _hosts: dict[str, _Host] = field(default_factory=dict)
    _silent: set[str] = field(default_factory=set)
    """Hosts that never reported an energy."""
    _executor_cores: float = 1.0

    def observe(self, measurement: Measurement) -> None:
        """Learn from the readings of one step."""
        readings = measurement.hosts
        if not readings:
            return
        executors = sum(reading.executors or 0 for reading in readings)
        slots = sum(reading.executor_slots or 0 for reading in readings)
        if executors and slots:
            self._executor_cores = slots / executors
        for reading in readings:
            self._take(reading, len(readings))

    @property
    def model(self) -> PowerModel:
        """Of busy executors; the prior until a host has reported its energy."""
        hosts = [host for host in self._hosts.values() if host.model.readings]
        if not hosts:
            return self.prior
        terms = np.array([host.model.model.coefficients for host in hosts])
        other_cores = np.array([host.other_cores for host in hosts])
        count = len(hosts) + len(self._silent)
        base_w, per_ghz_w, core_ghz_w, core_ghz3_w = terms.mean(axis=0)
        other_ghz_w, other_ghz3_w = (other_cores[:, None] * terms[:, 2:]).mean(axis=0)
        return ClusterPower(
            base_w=float(count * base_w),
            per_ghz_w=float(count * (per_ghz_w + other_ghz_w)),
            per_ghz3_w=float(count * other_ghz3_w),
            per_executor_ghz_w=float(self._executor_cores * core_ghz_w),
            per_executor_ghz3_w=float(self._executor_cores * core_ghz3_w),
        )

    @property
    def figure(self) -> PowerFigure:
        metered = [host for host in self._hosts.values() if host.model.readings]
        learned = [host for host in metered if host.model.record.kind == "learned"]
        errors = [host.model.record.error for host in metered]
        known = [error for error in errors if error is not None]
        sources: set[PowerSource] = {host.source for host in metered}
        return PowerFigure(
            origin="learned" if learned else "modelled",
            source="modelled"
            if not sources
            else "emulated"
            if "emulated" in sources
            else "measured",
            error=float(np.mean(known)) if learned and known else None,
            learned_hosts=len(learned),
            hosts=len(metered) + len(self._silent),
        )

    def _take(self, reading: HostReading, hosts: int) -> None:
        khz = reading.clock_khz or reading.frequency_khz
        busy = reading.executor_cores
        # A modelled power is somebody's prior: there is nothing to learn from it.
        power_w = None if reading.power_source == "modelled" else reading.power_w
        shape = self.prior
        if (
            power_w is None
            or khz is None
            or busy is None
            or not isinstance(shape, CalibratedPower)  # that of another family says nothing of ours
        ):
            if reading.name not in self._hosts:
                self._silent.add(reading.name)
            return
        self._silent.discard(reading.name)
        host = self._hosts.get(reading.name)
        if host is None:
            prior = self._host_prior(shape, hosts)
            host = self._hosts[reading.name] = _Host(OnlinePower(prior, self.in_watts))
        host.source = reading.power_source
        other_cores = reading.other_cores or 0.0
        host.other_cores += OTHER_SMOOTHING * (other_cores - host.other_cores)
        host.model.learn(busy + other_cores, khz, power_w)

    def _host_prior(self, prior: CalibratedPower, hosts: int) -> CalibratedPower:
        """One host's share of what the cluster draws, and what one busy core adds."""
        cores = self._executor_cores
        return CalibratedPower(
            prior.base_w / hosts,
            prior.per_ghz_w / hosts,
            prior.per_executor_ghz_w / cores,
            prior.per_executor_ghz3_w / cores,
        )
