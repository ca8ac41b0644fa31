"""A FUSE host for tests, benchmarks and the demo: starts the serving process and stands for it."""

import contextlib
import functools
import shutil
import socket
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Self

import msgspec

from energy.emulation.description import HostDescription
from energy.errors import HostError
from tests.support.fuse import enter
from tests.support.fuse.control import Usage

_PATIENCE_S = 60.0
_TOP = Path(__file__).parents[3]
"""The folder that `energy` is imported from."""


class EmulationFailed(HostError):
    """The serving process refused a call or is gone."""


class FuseUnavailable(EmulationFailed):
    """This machine or user cannot mount; the message is the reason."""


@functools.cache
def fuse_unavailable() -> str | None:
    """Why no FUSE host can run here, found out by starting one; None where it can."""
    try:
        with FuseHost(HostDescription(cpus=1)):
            return None
    except FuseUnavailable as error:
        return str(error)


class FuseHost:
    """An emulated host in a process and mount namespace of its own, from making it to `stop`.

    It is made from a description or from the file of a captured tree. Should this process die in
    whatever way, the serving process ends too.
    """

    def __init__(self, source: HostDescription | Path) -> None:
        self.inside_root = Path(tempfile.mkdtemp(prefix="fuse-host-"))
        """Where the tree is mounted, for programs run with `command`."""
        if isinstance(source, Path):
            option = ["--capture", str(source.resolve())]
        else:
            option = ["--description", msgspec.json.encode(source).decode()]
        ours, theirs = socket.socketpair()
        ours.settimeout(_PATIENCE_S)
        self._lock = threading.Lock()
        self._socket = ours
        self._lines = ours.makefile("rb")
        with theirs:
            self._process = subprocess.Popen(
                [
                    *(sys.executable, "-m", "tests.support.fuse"),
                    *("--mount", str(self.inside_root)),
                    *option,
                ],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                cwd=_TOP,
            )
        self.pid = self._process.pid
        self.root = Path(f"/proc/{self.pid}/root{self.inside_root}")
        """The same tree, reached from outside the namespace; only root may."""
        try:
            self._await_ready()
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def stop(self) -> None:
        """Unmounts and ends the process; does nothing the second time."""
        with contextlib.suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        try:
            self._process.wait(_PATIENCE_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._lines.close()
        self._socket.close()
        shutil.rmtree(self.inside_root, ignore_errors=True)

    def command(self, arguments: Sequence[str]) -> list[str]:
        """The command line that runs a program where the tree is mounted at `inside_root`.

        The program gets the process id, working folder and environment of what is started.
        """
        return [sys.executable, "-I", "-S", str(enter.__file__), str(self.pid), *arguments]

    def usage(self) -> Usage:
        """The requests answered and the processor time of the serving process."""
        return msgspec.convert(self._call("usage"), Usage)

    def snapshot(self) -> dict[str, str]:
        return msgspec.convert(self._call("snapshot"), dict[str, str])

    def running_khz(self, cpu: int) -> int:
        return msgspec.convert(self._call("running_khz", cpu), int)

    def thermal_cap(self, policy: str, khz: int | None) -> None:
        self._call("thermal_cap", policy, khz)

    def bios_limit(self, policy: str, khz: int | None) -> None:
        self._call("bios_limit", policy, khz)

    def unplug(self, cpu: int) -> None:
        self._call("unplug", cpu)

    def plug(self, cpu: int) -> None:
        self._call("plug", cpu)

    def add_energy_uj(self, zone: str, gained_uj: int) -> None:
        self._call("add_energy_uj", zone, gained_uj)

    def inject(
        self,
        path: str,
        number: int | None,
        on: Literal["read", "write", "both"] = "both",
        times: int | None = None,
    ) -> None:
        self._call("inject", path, number, on, times)

    def set_mode(self, path: str, mode: int) -> None:
        self._call("set_mode", path, mode)

    def set_read_only(self, read_only: bool) -> None:
        self._call("set_read_only", read_only)

    def _await_ready(self) -> None:
        answer = self._receive()
        if "unavailable" in answer:
            raise FuseUnavailable(str(answer["unavailable"]))

    def _call(self, call: str, *arguments: str | int | bool | None) -> object:
        line = msgspec.json.encode({"call": call, "arguments": arguments}) + b"\n"
        with self._lock:
            try:
                self._socket.sendall(line)
            except OSError as error:
                raise EmulationFailed(f"the serving process is gone: {error}") from None
            answer = self._receive()
        if "error" in answer:
            raise EmulationFailed(str(answer["error"]))
        return answer["result"]

    def _receive(self) -> dict[str, object]:
        try:
            line = self._lines.readline()
        except TimeoutError:
            raise EmulationFailed(f"no answer in {_PATIENCE_S:g} s") from None
        except OSError as error:
            raise EmulationFailed(f"the serving process is gone: {error}") from None
        if not line.endswith(b"\n"):
            raise EmulationFailed("the serving process is gone")
        return msgspec.json.decode(line, type=dict[str, object])
