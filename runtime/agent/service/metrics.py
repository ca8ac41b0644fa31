"""What Prometheus reads: the status of the agent as counters and gauges, with units in their names.

Requests and ticks are counted here; everything else is taken from the core when it is asked for.
"""

from collections import Counter
from collections.abc import Callable, Iterator, Sized

from prometheus_client import CONTENT_TYPE_PLAIN_0_0_4, CollectorRegistry, generate_latest
from prometheus_client.core import (
    CounterMetricFamily,
    GaugeMetricFamily,
    InfoMetricFamily,
    Metric,
    SummaryMetricFamily,
)

from runtime.agent.wire.messages import EnergyReport, PolicyStatus, Status

CONTENT_TYPE = CONTENT_TYPE_PLAIN_0_0_4
_PREFIX = "foresight_agent"
_HERTZ_PER_KHZ = 1000
_JOULES_PER_UJ = 1e-6


class AgentMetrics:
    """Counts, and renders the text exposition."""

    def __init__(self) -> None:
        self._requests: Counter[tuple[str, str]] = Counter()
        self._ticks = 0
        self._ticks_s = 0.0
        self._connections: dict[str, Sized] = {}
        self.unaudited = 0
        """Refusals that found the way to the audit log jammed."""

    def count(self, action: str, result: str) -> None:
        self._requests[action, result] += 1

    def ticked(self, duration_s: float) -> None:
        self._ticks += 1
        self._ticks_s += duration_s

    def watch_connections(self, listener: str, connections: Sized) -> None:
        self._connections[listener] = connections

    def render(self, status: Status, energy: EnergyReport | None) -> bytes:
        # A registry of its own: the process-wide one brings collectors nobody asked for.
        registry = CollectorRegistry(auto_describe=False)
        registry.register(_Collected(lambda: self._families(status, energy)))
        return generate_latest(registry)

    def _families(self, status: Status, energy: EnergyReport | None) -> Iterator[Metric]:
        yield from _host(status)
        yield from _policies(status.policies)
        if energy is not None:
            yield from _energy(energy)
        commands = CounterMetricFamily(
            f"{_PREFIX}_commands",
            "Requests by action and result: accepted, or the code of the refusal.",
            labels=("action", "result"),
        )
        for labels, count in dict(self._requests).items():
            commands.add_metric(labels, count)
        yield commands
        connections = GaugeMetricFamily(
            f"{_PREFIX}_connections", "Open connections of a listener.", labels=("listener",)
        )
        for listener, held in self._connections.items():
            connections.add_metric((listener,), len(held))
        yield connections
        yield CounterMetricFamily(
            f"{_PREFIX}_unaudited_refusals",
            "Refusals missing in the audit log, because too many waited for it.",
            self.unaudited,
        )
        yield SummaryMetricFamily(
            f"{_PREFIX}_tick_duration_seconds",
            "Time of one tick, which watches the lease, the limits and the energy.",
            count_value=self._ticks,
            sum_value=self._ticks_s,
        )


class _Collected:
    """A collector of what a function yields."""

    def __init__(self, families: Callable[[], Iterator[Metric]]) -> None:
        self._families = families

    def collect(self) -> Iterator[Metric]:
        return self._families()


def _host(status: Status) -> Iterator[Metric]:
    yield InfoMetricFamily(
        _PREFIX,
        "The agent and its host.",
        value={
            "version": status.version,
            "host": status.host,
            "emulated": str(status.emulated).lower(),
        },
    )
    yield GaugeMetricFamily(
        f"{_PREFIX}_uptime_seconds", "Time since the agent started.", status.uptime_ms / 1000
    )
    yield GaugeMetricFamily(
        f"{_PREFIX}_lease_held", "1 while a controller holds the lease.", status.holder is not None
    )
    yield GaugeMetricFamily(
        f"{_PREFIX}_lease_epoch", "The epoch of the last lease; rises with each.", status.epoch
    )
    yield GaugeMetricFamily(
        f"{_PREFIX}_drifted_policies",
        "Policies whose limits somebody else changed; the agent leaves them alone.",
        sum(policy.drifted for policy in status.policies),
    )
    yield GaugeMetricFamily(
        f"{_PREFIX}_problem", "1 while the status shows a problem.", status.last_problem is not None
    )


def _policies(policies: tuple[PolicyStatus, ...]) -> Iterator[Metric]:
    limits = GaugeMetricFamily(
        f"{_PREFIX}_frequency_limit_hertz",
        "Upper frequency limit in force, as the kernel reads it back.",
        labels=("policy",),
    )
    requested = GaugeMetricFamily(
        f"{_PREFIX}_frequency_requested_hertz",
        "Upper frequency limit the controller asked for.",
        labels=("policy",),
    )
    for policy in policies:
        if policy.effective_khz is not None:
            limits.add_metric((policy.name,), policy.effective_khz * _HERTZ_PER_KHZ)
        if policy.requested_khz is not None:
            requested.add_metric((policy.name,), policy.requested_khz * _HERTZ_PER_KHZ)
    yield limits
    yield requested


def _energy(energy: EnergyReport) -> Iterator[Metric]:
    if energy.total_uj is not None:
        total = CounterMetricFamily(
            f"{_PREFIX}_host_energy_joules",
            "Energy of the host since the agent started; the source says how it is known.",
            labels=("source",),
        )
        total.add_metric((energy.source,), energy.total_uj * _JOULES_PER_UJ)
        yield total
    zones = CounterMetricFamily(
        f"{_PREFIX}_energy_joules",
        "Energy of one counter since the agent started; they overlap, so do not add them up.",
        labels=("zone", "source"),
    )
    for zone in energy.zones:
        if zone.energy_uj is not None:
            zones.add_metric((zone.name, energy.source), zone.energy_uj * _JOULES_PER_UJ)
    yield zones
