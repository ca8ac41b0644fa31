"""`foresight agent run | restore | status | release`: the daemon of a worker host, and how a person
reaches it. What it takes to set one up is in `runtime.cli.agent_setup`.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

from runtime.cli import agent_setup
from runtime.cli.parameters import Overrides

if TYPE_CHECKING:
    from runtime.agent.wire.client import AgentClient
    from runtime.agent.wire.messages import Status

agent_app = typer.Typer(
    help="The privileged agent of a worker host: its energy and its CPU frequencies.",
    no_args_is_help=True,
)
agent_setup.add_to(agent_app)

ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="The TOML file [default: /etc/foresight/agent.toml if it is there].",
    ),
]
Root = Annotated[
    Path, typer.Option("--root", metavar="DIR", help="Folder that holds the /sys to work on.")
]
Socket = Annotated[
    Path | None,
    typer.Option(
        "--socket",
        metavar="PATH",
        help="UNIX socket of the agent [default: /run/foresight/agent.sock].",
    ),
]


@agent_app.command()
def run(
    config_file: ConfigFile = None, root: Root = Path("/"), overrides: Overrides = None
) -> None:
    """Serve this host until SIGTERM, then restore it."""
    from runtime.agent.service.daemon import run_agent
    from runtime.agent.service.settings import load_agent_config

    path = _config_path(config_file)
    with _one_line_errors():
        code = run_agent(load_agent_config(path, overrides or ()), root, path)
    raise typer.Exit(code)


@agent_app.command()
def restore(
    config_file: ConfigFile = None, root: Root = Path("/"), overrides: Overrides = None
) -> None:
    """Put back what an agent that is gone had changed; harmless when there is nothing."""
    from runtime.agent.core.offline import restore_offline
    from runtime.agent.service.settings import load_agent_config
    from runtime.agent.wire.trust import check_unwritable

    path = _config_path(config_file)
    if path is not None:
        check_unwritable(path)
    with _one_line_errors():
        outcome = restore_offline(load_agent_config(path, overrides or ()), root)
    typer.echo(outcome.words)
    raise typer.Exit(1 if outcome.failed else 0)


@agent_app.command()
def status(
    socket: Socket = None,
    url: str | None = typer.Option(
        None, metavar="URL", help="https://HOST:PORT, or http:// on loopback."
    ),
    authority: Path | None = typer.Option(
        None, "--ca", metavar="FILE", help="Certificate of the authority."
    ),
    certificate: Path | None = typer.Option(None, metavar="FILE", help="Certificate to show."),
    key: Path | None = typer.Option(None, metavar="FILE", help="Its key."),
    json: bool = typer.Option(False, "--json", help="Print JSON."),
) -> None:
    """Show what an agent is doing: its lease, its limits, its energy."""
    import msgspec

    if url is not None and socket is not None:
        raise typer.BadParameter("cannot stand beside --url.", param_hint="'--socket'")
    with _one_line_errors(), _client(socket, url, (authority, certificate, key)) as client:
        answer = client.status()
    if json:
        typer.echo(msgspec.json.format(msgspec.json.encode(answer)).decode())
    else:
        _show(answer)


@agent_app.command()
def release(socket: Socket = None) -> None:
    """End the lease, whoever holds it, and restore the host; for administrators."""
    with _one_line_errors(), _client(socket, None, (None, None, None)) as client:
        released = client.release_as_administrator()
    typer.echo(_listed("restored", released.restored))
    if released.left_alone:
        typer.echo(_listed("left alone, changed by somebody else", released.left_alone))
    for policy, reason in released.failed.items():
        typer.echo(f"not restored yet, the agent goes on trying: {policy} ({reason})")
    raise typer.Exit(1 if released.failed else 0)


def _config_path(given: Path | None) -> Path | None:
    from runtime.agent.service.settings import DEFAULT_PATH

    return given if given is not None or not DEFAULT_PATH.exists() else DEFAULT_PATH


def _client(
    socket: Path | None, url: str | None, files: tuple[Path | None, Path | None, Path | None]
) -> "AgentClient":
    from runtime.agent.service.settings import Listen
    from runtime.agent.wire.client import AgentClient
    from runtime.agent.wire.tls import TlsFiles

    if url is None:
        return AgentClient.local(socket or Listen().socket)
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/"):
        raise typer.BadParameter("must be https://HOST:PORT.", param_hint="'--url'")
    given = [path for path in files if path is not None]
    if len(given) != (3 if parts.scheme == "https" else 0):
        raise typer.BadParameter(
            "https needs --ca, --certificate and --key, http none of them.", param_hint="'--url'"
        )
    tls = TlsFiles(*given) if given else None
    return AgentClient.remote(parts.hostname, parts.port or Listen().port, tls)


@contextmanager
def _one_line_errors() -> Iterator[None]:
    """What an agent or a host refuses is one line and exit code 1, like every other failure."""
    from energy.errors import HostError
    from runtime.agent.core.state import StateError
    from runtime.agent.wire.client import AgentUnreachable
    from runtime.agent.wire.refusals import Refused

    try:
        yield
    except (HostError, StateError, AgentUnreachable) as error:
        raise OSError(str(error)) from error
    except Refused as refused:
        raise OSError(f"{refused.code}: {refused}") from refused


def _show(status: "Status") -> None:
    lease = "nobody"
    if status.holder is not None and status.expires_in_ms is not None:
        lease = f"{status.holder}, epoch {status.epoch}, for {status.expires_in_ms / 1000:.1f} s"
    energy = "none"
    if status.total_uj is not None:
        energy = f"{status.total_uj / 1e6:.1f} J since the start, {status.energy_source}"
    for name, value in (
        ("host", f"{status.host}{', emulated' if status.emulated else ''}"),
        ("agent", f"{status.version}, up {status.uptime_ms / 1000:.0f} s"),
        ("lease", lease),
        ("energy", energy),
        ("commands", f"{status.accepted} accepted, {status.refused} refused"),
        ("problem", status.last_problem or "none"),
    ):
        typer.echo(f"{name:<9} {value}")
    for policy in status.policies:
        if not policy.active:
            state = "inactive"
        else:
            limit = "unknown" if policy.effective_khz is None else f"{policy.effective_khz} kHz"
            state = f"limit {limit}"
            if policy.requested_khz is not None:
                state += f", requested {policy.requested_khz} kHz"
            if policy.original_max_khz is not None:
                state += f", originally {policy.original_max_khz} kHz"
        typer.echo(f"{policy.name:<9} {state}{', DRIFTED' if policy.drifted else ''}")


def _listed(words: str, names: tuple[str, ...]) -> str:
    return f"{words}: {', '.join(names) or 'nothing'}"
