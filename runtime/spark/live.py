"""The live cluster behind the ports of the control loop: executors, agents and sensor.

Only translation: from the states and events of each part to the values the loop knows.
"""

from collections.abc import Set
from pathlib import Path
from urllib.parse import urlsplit

from mpc.events import Event, EventKind
from mpc.values import Measurement
from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.tls import TlsFiles
from runtime.config.live import Agents, agent_address
from runtime.control.journal import StartUpSamples
from runtime.control.ports import Executors
from runtime.fleet.fleet import Connect, Fleet
from runtime.spark.scaling.scaler import ExecutorScaler, ScalingEvent, ScalingState
from runtime.spark.sensing.sensor import SparkSensor

AGENT_PORT = 9797

_EXECUTOR_EVENTS = {
    "started": EventKind.EXECUTOR_STARTED,
    "lost": EventKind.EXECUTOR_LOST,
    "draining": EventKind.EXECUTOR_DRAINING,
    "drained": EventKind.EXECUTOR_DRAINED,
    "killed": EventKind.EXECUTOR_KILLED,
    "held": EventKind.SCALE_IN_DELAYED,
    "stalled": EventKind.EXECUTORS_STALLED,
}


class LiveExecutors:
    """Implements `ExecutorPort` with the scaler, which only watches until the first request."""

    def __init__(self, scaler: ExecutorScaler, starting: int = 0) -> None:
        """`starting`: how many Spark itself asked for when the application began. Until one of
        them has come, and nothing else was requested, that is what counts as requested: to hold
        must not be to scale in."""
        self._scaler = scaler
        self._starting = starting
        self._wanted: int | None = None
        self._news: list[Event] = []

    @property
    def start_up_s(self) -> float:
        return self._scaler.start_up.seconds

    @property
    def start_up_samples(self) -> StartUpSamples:
        delay = self._scaler.start_up
        return StartUpSamples(delay.register.samples_s, delay.warm.samples_s)

    def request(self, executors: int) -> None:
        self._wanted = executors

    def reconcile(self) -> Executors:
        if self._wanted is None:
            return self.look()
        return self._told(self._scaler.request(self._wanted))

    def look(self) -> Executors:
        return self._told(self._scaler.reconcile())

    def news(self) -> tuple[Event, ...]:
        news, self._news = tuple(self._news), []
        return news

    def _told(self, state: ScalingState) -> Executors:
        self._news += [_executor_event(event) for event in state.events]
        hosts = frozenset(info.host for info in state.executors)
        requested = state.requested
        if state.wanted is None and not state.executors:
            requested = self._starting
        return Executors(requested, state.observed, hosts)


class LiveSensor:
    """Implements the loop's sensor with Spark's."""

    def __init__(self, sensor: SparkSensor) -> None:
        self._sensor = sensor

    @property
    def queries(self) -> tuple[dict[str, object], ...]:
        return self._sensor.queries

    def measure(self) -> Measurement:
        return self._sensor.measure()

    def news(self) -> tuple[Event, ...]:
        return tuple(
            Event(
                EventKind[event.kind.replace("-", "_").upper()],
                event.detail if event.query is None else f"{event.query}: {event.detail}",
            )
            for event in self._sensor.report.events
        )


class LiveFleet:
    """Implements `FleetPort` with the agents."""

    def __init__(self, fleet: Fleet) -> None:
        self.fleet = fleet

    @property
    def frequency_khz(self) -> int | None:
        return self.fleet.state().frequency_khz

    def request(self, frequency_khz: int, busy_hosts: Set[str]) -> None:
        self.fleet.request(frequency_khz, busy_hosts)

    def news(self) -> tuple[Event, ...]:
        return tuple(
            Event(EventKind[event.kind.name], f"{event.host}: {event.detail}")
            for event in self.fleet.events()
        )

    def close(self) -> None:
        self.fleet.stop()


def agent_connections(agents: Agents) -> dict[str, Connect]:
    """How to reach the agent of every host, by the host's name in Spark."""
    tls = None
    if agents.authority and agents.certificate and agents.key:
        tls = TlsFiles(Path(agents.authority), Path(agents.certificate), Path(agents.key))
    addresses = dict(agent_address(url) for url in agents.urls)
    return {host: _connect(address, tls) for host, address in addresses.items()}


def _connect(address: str, tls: TlsFiles | None) -> Connect:
    if address.startswith("unix:"):
        path = address.removeprefix("unix:")
        return lambda: AgentClient.local(path)
    parts = urlsplit(address)
    host, port = parts.hostname or "", parts.port or AGENT_PORT
    secure = tls if parts.scheme == "https" else None
    return lambda: AgentClient.remote(host, port, secure)


def _executor_event(event: ScalingEvent) -> Event:
    subject = "" if event.executor_id is None else f"{event.executor_id} on {event.host}: "
    return Event(_EXECUTOR_EVENTS[event.kind], subject + event.detail)
