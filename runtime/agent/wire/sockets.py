"""The two sockets an agent listens on: TCP for controllers, UNIX for the administration."""

import grp
import os
import socket
import stat
from contextlib import suppress
from ipaddress import ip_address
from pathlib import Path

from runtime.agent.service.settings import Listen
from runtime.config.strict import ConfigError

_BACKLOG = 64
_MODE = 0o660


def bind_tcp(listen: Listen, has_tls: bool) -> socket.socket | None:
    """None where the configuration wants no TCP."""
    if listen.address is None:
        return None
    address = ip_address(listen.address)
    if not address.is_loopback and not has_tls:
        raise ConfigError(f"listen.address = {listen.address}", "needs mutual TLS, see [tls]")
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6
    try:
        return socket.create_server((str(address), listen.port), family=family, backlog=_BACKLOG)
    except OSError as error:
        raise OSError(
            error.errno, f"cannot listen on {listen.address} port {listen.port}: {error.strerror}"
        ) from None


def bind_local(listen: Listen) -> socket.socket:
    """A socket that root and one group may open. What is there already stays, unless it is the
    socket of an agent that died."""
    path = Path(listen.socket)
    group = None if listen.socket_group is None else _group_id(listen.socket_group)
    path.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
    _check_folder(path.parent)
    _remove_stale(path)
    listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
    try:
        # Nobody else may connect between bind and chmod.
        mask = os.umask(0o177)
        try:
            listening.bind(str(path))
        finally:
            os.umask(mask)
        # The unit forbids chown, and gives the agent the group that its socket then has.
        if group not in (None, path.stat().st_gid):
            os.chown(path, -1, group)
        path.chmod(_MODE)
        listening.listen(_BACKLOG)
    except BaseException:
        listening.close()
        raise
    return listening


def unlink_local(path: Path) -> None:
    """Remove the socket file after its socket was closed; another agent's stays."""
    with suppress(FileNotFoundError):
        if stat.S_ISSOCK(path.lstat().st_mode) and not _is_served(path):
            path.unlink()


def _group_id(name: str) -> int:
    try:
        return grp.getgrnam(name).gr_gid
    except KeyError:
        raise ConfigError(f"listen.socket_group = {name}", "no such group") from None


def _check_folder(folder: Path) -> None:
    status = folder.stat()
    others_write = status.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    if others_write and not status.st_mode & stat.S_ISVTX:
        raise ConfigError(str(folder), "others must not write the folder of the socket")


def _remove_stale(path: Path) -> None:
    try:
        status = path.lstat()
    except FileNotFoundError:
        return
    if not stat.S_ISSOCK(status.st_mode):
        raise ConfigError(str(path), "is in the way and no socket")
    if status.st_uid != os.geteuid():
        raise ConfigError(str(path), f"belongs to user {status.st_uid}")
    if _is_served(path):
        raise ConfigError(str(path), "another agent listens there")
    path.unlink()


def _is_served(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(path))
        except (ConnectionRefusedError, FileNotFoundError):
            return False
        except BlockingIOError:
            return True  # its backlog is full
        return True
