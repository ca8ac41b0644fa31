"""Tells systemd how the service is doing (`sd_notify`); silent where nobody listens."""

import os
import socket
from contextlib import suppress


class Notifier:
    """Sends states to the socket that systemd named in NOTIFY_SOCKET."""

    def __init__(self, address: str | None) -> None:
        self._address = address

    @classmethod
    def from_environment(cls) -> "Notifier":
        return cls(os.environ.get("NOTIFY_SOCKET"))

    def send(self, *states: str) -> None:
        if not self._address:
            return
        # A leading @ stands for the NUL of the abstract namespace.
        address = "\0" + self._address[1:] if self._address.startswith("@") else self._address
        with (
            suppress(OSError),  # an agent that cannot report goes on; the watchdog will tell
            socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM | socket.SOCK_CLOEXEC) as connection,
        ):
            connection.setblocking(False)
            connection.sendto("\n".join(states).encode(), address)
