"""The agent as its users run it: `foresight agent run` in a process of its own.

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
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

import psutil

from runtime.agent.client import AgentClient

COMMAND = Path(sys.executable).parent / "foresight"
PATIENCE_S = 90.0
"""For anything that must happen at some time: a loaded machine is slow."""

Found = TypeVar("Found")


def wait_for(what: str, probe: Callable[[], Found | None]) -> Found:
    """The first result that is neither None nor False."""
    give_up_s = time.monotonic() + PATIENCE_S
    while True:
        found = probe()
        if found is not None and found is not False:
            return found
        if time.monotonic() > give_up_s:
            raise AssertionError(f"waited {PATIENCE_S:g} s in vain: {what}")
        time.sleep(0.02)


class AgentProcess:
    """One agent on one host; `command` wraps its command line to run it inside a namespace."""

    def __init__(
        self,
        root: Path,
        command: Callable[[Sequence[str]], list[str]] = list,
        settings: Mapping[str, str] | None = None,
    ) -> None:
        # The path of a UNIX socket is short, and that of pytest's folders is not.
        self.folder = Path(tempfile.mkdtemp(prefix="agent-"))
        self.socket = self.folder / "a.sock"
        self.audit = self.folder / "audit.jsonl"
        self._log = self.folder / "log.jsonl"
        self._root = root
        self._command = command
        self._settings = {
            "listen.socket": json.dumps(str(self.socket)),
            "files.state": json.dumps(str(self.folder / "state")),
            "files.audit": json.dumps(str(self.audit)),
            # Tests ask again and again until something happens.
            "guard.requests_per_s": "1000.0",
            **(settings or {}),
        }
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    @property
    def running(self) -> bool:
        return self._process is not None and self._process.poll() is None

    def launch(self) -> None:
        """Start it and do not wait until it serves."""
        assert not self.running
        arguments = [str(COMMAND), "agent", "run", "--root", str(self._root)]
        for key, value in self._settings.items():
            arguments += ["--set", f"{key}={value}"]
        with self._log.open("wb") as log:
            self._process = subprocess.Popen(
                self._command(arguments), stdin=subprocess.DEVNULL, stdout=log, stderr=log
            )

    def start(self) -> None:
        self.launch()
        wait_for("the agent is ready", lambda: self.event("ready"))

    def event(self, name: str) -> dict[str, object] | None:
        """The first line of its log about an event; an agent that ended instead is an error."""
        for line in self._log.read_text().splitlines():
            if line.startswith("{") and (parsed := json.loads(line))["event"] == name:
                found: dict[str, object] = parsed
                return found
        if not self.running:
            raise AssertionError(f"the agent ended without {name}: {self._log.read_text()}")
        return None

    @property
    def port(self) -> int:
        for line in self._log.read_text().splitlines():
            event = json.loads(line)
            if event["event"] == "listening" and event["listener"] == "tcp":
                return int(event["port"])
        raise AssertionError("the agent listens on no port")

    def client(self) -> AgentClient:
        return AgentClient.local(self.socket, timeout_s=PATIENCE_S)

    def connect(self) -> socket.socket:
        """A bare connection over TCP, for what no client would send."""
        return socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE_S)

    def kill(self) -> None:
        self._end(signal.SIGKILL)

    def terminate(self) -> int:
        return self._end(signal.SIGTERM)

    def _end(self, number: signal.Signals) -> int:
        assert self._process is not None
        self._process.send_signal(number)
        return self._process.wait(PATIENCE_S)

    def restore(self) -> str:
        """`foresight agent restore`, as ExecStopPost runs it."""
        arguments = [str(COMMAND), "agent", "restore", "--root", str(self._root)]
        for key, value in self._settings.items():
            arguments += ["--set", f"{key}={value}"]
        done = subprocess.run(
            self._command(arguments), capture_output=True, text=True, timeout=PATIENCE_S, check=True
        )
        return done.stdout

    def audited(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in self.audit.read_text().splitlines()]

    def resident_bytes(self) -> int:
        return int(psutil.Process(self.pid).memory_info().rss)

    def close(self) -> None:
        if self.running:
            os.kill(self.pid, signal.SIGKILL)
        if self._process is not None:
            self._process.wait(PATIENCE_S)
        shutil.rmtree(self.folder, ignore_errors=True)


@contextmanager
def agent_on(
    root: Path,
    command: Callable[[Sequence[str]], list[str]] = list,
    settings: Mapping[str, str] | None = None,
) -> Iterator[AgentProcess]:
    """An agent that serves; whatever becomes of it, nothing of it is left."""
    agent = AgentProcess(root, command, settings)
    try:
        agent.start()
        yield agent
    finally:
        agent.close()
