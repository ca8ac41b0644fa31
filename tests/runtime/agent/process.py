"""The daemon as a process of its own, started as an operator would.

An `AgentProcess` keeps one configuration over many lives: it is started, killed in whatever way,
and started again on the same host and state.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import psutil

from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.tls import TlsFiles
from tests.runtime.agent.running_agent import PATIENCE_S, wait_for

FORESIGHT = (sys.executable, "-c", "import sys; from runtime.cli.main import run; sys.exit(run())")


class AgentProcess:
    """`foresight agent run` on a folder; killed and cleaned up at the end of the `with` block.

    `wrap` turns its command line into one that runs it elsewhere, in a namespace for example.
    """

    def __init__(
        self,
        folder: Path,
        root: Path,
        settings: Sequence[str] = (),
        environment: Mapping[str, str] | None = None,
        wrap: Callable[[Sequence[str]], list[str]] = list,
    ) -> None:
        self.root = root
        self.folder = folder
        self.folder.mkdir(exist_ok=True)
        self.state = folder / "state"
        self.audit = folder / "log" / "audit.jsonl"
        # The path of a UNIX socket is short, that of a test's folder need not be.
        self._short = Path(tempfile.mkdtemp(prefix="fa-"))
        self.socket = self._short / "agent.sock"
        self.options = [
            *("--root", str(root)),
            *self._set("listen.address", "127.0.0.1"),
            *("--set", "listen.port=0"),
            *self._set("listen.socket", str(self.socket)),
            *self._set("files.state", str(self.state)),
            *self._set("files.audit", str(self.audit)),
            *("--set", 'energy.meter="none"'),
            # Nobody meets these limits by chance on a slow machine.
            *("--set", "guard.requests_per_s=10000", "--set", "guard.burst=10000"),
            *("--set", "guard.timeout_s=60"),
            *(part for setting in settings for part in ("--set", setting)),
        ]
        self._wrap = wrap
        self._environment = {**os.environ, **(environment or {})}
        self._starts = 0
        self.process: subprocess.Popen[bytes] | None = None

    @staticmethod
    def _set(key: str, value: str) -> tuple[str, str]:
        return "--set", f"{key}={json.dumps(value)}"

    def __enter__(self) -> Self:
        try:
            self.start()
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
        try:
            if self.running:
                self.kill()
        finally:
            shutil.rmtree(self._short)

    @property
    def log(self) -> Path:
        return self.folder / f"stderr-{self._starts}"

    def events(self, name: str) -> list[dict[str, Any]]:
        """Lines of the log of the present start."""
        lines = [line for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [event for event in map(json.loads, lines) if event["event"] == name]

    def audited(self, name: str) -> list[dict[str, Any]]:
        lines = map(json.loads, self.audit.read_text().splitlines())
        return [line for line in lines if line["event"] == name]

    @property
    def running(self) -> bool:
        return self.process is not None and self.process.poll() is None

    def launch(self) -> None:
        """Start it and do not wait until it serves."""
        assert not self.running
        self._starts += 1
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                self._wrap([*FORESIGHT, "agent", "run", *self.options]),
                stderr=log,
                stdout=subprocess.DEVNULL,
                env=self._environment,
            )

    def start(self) -> None:
        self.launch()
        wait_for(lambda: self.events("ready") or not self.running, "the agent")
        assert self.running, self.log.read_text()

    def restore(self) -> str:
        """`foresight agent restore` with the configuration of this agent, as ExecStopPost does."""
        done = subprocess.run(
            self._wrap([*FORESIGHT, "agent", "restore", *self.options]),
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=True,
        )
        return done.stdout

    def resident_bytes(self) -> int:
        assert self.process is not None
        return int(psutil.Process(self.process.pid).memory_info().rss)

    def connect(self) -> socket.socket:
        """A bare connection over TCP, for what no client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def command(self, *arguments: str) -> subprocess.CompletedProcess[str]:
        """Another `foresight agent` command, with nothing but its own arguments."""
        return subprocess.run(
            [*FORESIGHT, "agent", *arguments],
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )

    def terminate(self, number: signal.Signals = signal.SIGTERM) -> int:
        assert self.process is not None
        self.process.send_signal(number)
        return self.process.wait(PATIENCE_S)

    def kill(self) -> None:
        assert self.process is not None
        self.process.kill()
        self.process.wait(PATIENCE_S)

    @property
    def port(self) -> int:
        found = next(each for each in self.events("listening") if each["listener"] == "tcp")
        port: int = found["port"]
        return port

    def client(self, tls: TlsFiles | None = None) -> AgentClient:
        return AgentClient.remote("127.0.0.1", self.port, tls, PATIENCE_S)

    def local_client(self) -> AgentClient:
        return AgentClient.local(self.socket, PATIENCE_S)
