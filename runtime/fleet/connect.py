"""How to reach the agent of every host, as the configuration names them."""

from pathlib import Path
from urllib.parse import urlsplit

from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.tls import TlsFiles
from runtime.config.live import Agents, agent_address
from runtime.fleet.fleet import Connect

AGENT_PORT = 9797


def agent_connections(agents: Agents) -> dict[str, Connect]:
    """By the host's name in Spark."""
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
