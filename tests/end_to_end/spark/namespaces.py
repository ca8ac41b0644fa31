"""Hosts with a network of their own: one network namespace each, joined by a bridge in another.

A namespace is held by a process that ends with its owner, even by SIGKILL, and everything in it
ends too: nothing is made outside of them. Files and process ids are those of the machine.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from types import TracebackType
from typing import Self

from tests.runtime.agent.running_agent import wait_for

HUB = "192.168.77.1"
_BRIDGE = "hub"
_COMMAND_S = 30.0


def why_unavailable() -> str | None:
    """Why there can be no namespaces; None if there can."""
    for command in ("ip", "unshare", "nsenter"):
        if shutil.which(command) is None:
            return f"network namespaces need the command {command}"
    done = subprocess.run(
        ["unshare", "--net", "ip", "link", "add", "name", _BRIDGE, "type", "bridge"],
        capture_output=True,
        text=True,
        timeout=_COMMAND_S,
        check=False,
    )
    return None if done.returncode == 0 else f"no network namespaces: {done.stderr.strip()}"


class Network:
    """A hub at `HUB` and hosts that reach it and each other."""

    def __init__(self, hosts: int) -> None:
        self.hosts = tuple(f"192.168.77.{11 + number}" for number in range(hosts))
        self._holders: dict[str, subprocess.Popen[bytes]] = {}

    def __enter__(self) -> Self:
        try:
            for address in (HUB, *self.hosts):
                self._hold(address)
            self._ip(HUB, "link", "add", "name", _BRIDGE, "type", "bridge")
            self._give(HUB, _BRIDGE)
            for address in self.hosts:
                self._join(address)
        except BaseException:
            self.__exit__(None, None, None)
            raise
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        for holder in self._holders.values():
            holder.kill()
            holder.wait()

    def inside(self, address: str, command: Sequence[str]) -> list[str]:
        """The command that becomes this one in the namespace of an address."""
        return ["nsenter", f"--net=/proc/{self._holders[address].pid}/ns/net", *command]

    def cut(self, address: str) -> None:
        """As if somebody pulled its cable: nothing is closed, nothing comes through."""
        self._ip(HUB, "link", "set", _port(address), "down")

    def mend(self, address: str) -> None:
        self._ip(HUB, "link", "set", _port(address), "up")

    def _hold(self, address: str) -> None:
        holder = subprocess.Popen(
            [
                *("unshare", "--net", sys.executable, "-m", "runtime.tether"),
                *(str(os.getpid()), "sleep", "infinity"),
            ],
            stdin=subprocess.DEVNULL,
        )
        self._holders[address] = holder
        # Once it is `sleep` it has left our namespace.
        name = Path(f"/proc/{holder.pid}/comm")
        wait_for(lambda: name.read_text() == "sleep\n", "a network namespace")
        self._ip(address, "link", "set", "lo", "up")

    def _join(self, address: str) -> None:
        port, holder = _port(address), self._holders[address]
        peer = ("peer", "name", "eth0", "netns", str(holder.pid))
        self._ip(HUB, "link", "add", port, "type", "veth", *peer)
        self._ip(HUB, "link", "set", port, "master", _BRIDGE, "up")
        self._give(address, "eth0")

    def _give(self, address: str, device: str) -> None:
        self._ip(address, "address", "add", f"{address}/24", "dev", device)
        self._ip(address, "link", "set", device, "up")

    def _ip(self, address: str, *arguments: str) -> None:
        subprocess.run(
            self.inside(address, ["ip", *arguments]),
            timeout=_COMMAND_S,
            check=True,
        )


def _port(address: str) -> str:
    """The end of its cable at the bridge."""
    return f"to-{address.rpartition('.')[2]}"
