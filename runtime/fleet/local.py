"""Emulated worker hosts on this machine, each a real agent process with its own name.

Spark executors that register under the name of a host (127.0.0.2, ...) run on its emulated CPUs:
its frequency slows them down and its energy counter follows them. For benchmarks and tests; what
comes from such a host is labelled emulated.
"""

import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

from energy.emulation.dvfs.contract import Backend
from runtime.agent.wire.client import AgentClient, AgentUnreachable
from runtime.agent.wire.refusals import Refused

READY_S = 120.0
"""Eight agents on a loaded machine start one after the other in effect."""
STOP_S = 15.0
_POLL_S = 0.02
_LONGEST_LOG = 2000
_FORESIGHT = (sys.executable, "-c", "import sys; from runtime.cli.main import run; sys.exit(run())")
_TETHER = (sys.executable, "-m", "runtime.tether")


class LocalHosts:
    """Agents that run until `stop`, the end of the `with` block, or the end of this process.

    Start it from a thread that lives as long as the hosts should: Linux ends the agents together
    with the thread that started them.
    """

    def __init__(
        self,
        names: Sequence[str],
        *,
        cpus: int = 1,
        min_khz: int = 1_200_000,
        max_khz: int = 2_000_000,
        full_power_w: float = 100.0,
        cores_share: float = 1.0,
        free_cpu_s: float = 0.0,
        throttle: Backend | Literal["auto", "none"] = "auto",
        folder: Path | None = None,
    ) -> None:
        """Equal hosts, each with `cpus` and a `full_power_w` of its own.

        `cores_share` is what an emulated CPU has of a real core at the highest frequency: with
        0.25, eight of them fit on two cores. A new executor has a whole one until it has used
        `free_cpu_s`. Logs, journals and audit logs go to `folder`; without
        one they are gone in the end.
        """
        if not names or len(set(names)) != len(names):
            raise ValueError(f"names must be different and at least one, got {list(names)}")
        self._options: dict[str, str | int | float | bool] = {
            "energy.full_power_w": full_power_w,
            "emulation.enabled": True,
            "emulation.cpus": cpus,
            "emulation.min_khz": min_khz,
            "emulation.max_khz": max_khz,
            "emulation.share": cores_share,
            "emulation.free_cpu_s": free_cpu_s,
            "emulation.throttle": throttle,
        }
        # The path of a UNIX socket is short, that of a folder need not be.
        self._short = Path(tempfile.mkdtemp(prefix="fh-"))
        self._folders = {
            name: (folder or self._short) / f"host-{number}" for number, name in enumerate(names)
        }
        self._sockets = {name: self._short / f"{number}.sock" for number, name in enumerate(names)}
        self._processes: dict[str, subprocess.Popen[bytes]] = {}

    @property
    def agents(self) -> Mapping[str, Callable[[], AgentClient]]:
        """How to reach each host; what a `Fleet` is made of."""
        return {name: self._connecting_to(path) for name, path in self._sockets.items()}

    @property
    def sockets(self) -> Mapping[str, Path]:
        """Of each agent, for a controller in another process."""
        return dict(self._sockets)

    @property
    def pids(self) -> Mapping[str, int]:
        """Of the agents that were started, by the name of their host."""
        return {name: process.pid for name, process in self._processes.items()}

    def start(self, *names: str) -> None:
        """Start the agents of these hosts, by default of all, and wait until they answer."""
        chosen = names or tuple(self._sockets)
        for name in chosen:
            self._launch(name)
        deadline_s = time.monotonic() + READY_S
        for name in chosen:
            while not self._answers(name):
                ended = self._processes[name].poll() is not None
                if ended or time.monotonic() > deadline_s:
                    what = "ended" if ended else f"did not answer within {READY_S:.0f} s"
                    raise ChildProcessError(f"the agent of {name} {what}: {self._log(name)}")
                time.sleep(_POLL_S)

    def kill(self, name: str) -> None:
        """As if it had crashed; `start(name)` brings it back."""
        process = self._processes[name]
        process.kill()
        process.wait()

    def stop(self) -> None:
        """End all agents, by force if they take too long, and remove what they left."""
        for process in self._processes.values():
            with suppress(ProcessLookupError):
                process.send_signal(signal.SIGTERM)
        deadline_s = time.monotonic() + STOP_S
        for process in self._processes.values():
            try:
                process.wait(max(0.0, deadline_s - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        self._processes.clear()
        shutil.rmtree(self._short, ignore_errors=True)

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _launch(self, name: str) -> None:
        process = self._processes.get(name)
        if process is not None and process.poll() is None:
            raise ValueError(f"the agent of {name} is running already")
        folder = self._folders[name]
        folder.mkdir(parents=True, exist_ok=True)
        # Given, so that the configuration of an agent installed on this machine is not read.
        empty = self._short / "empty.toml"
        empty.touch(mode=0o600)
        with self._log_file(name).open("ab") as log:
            self._processes[name] = subprocess.Popen(
                [
                    *_TETHER,
                    str(os.getpid()),
                    *(*_FORESIGHT, "agent", "run", "--config", str(empty)),
                    *(part for option in self._settings(name) for part in ("--set", option)),
                ],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=log,
                # Interrupting the program in its terminal interrupts its hosts after it.
                start_new_session=True,
            )

    def _settings(self, name: str) -> list[str]:
        folder = self._folders[name].absolute()
        options = {
            **self._options,
            "listen.socket": str(self._sockets[name]),
            "files.state": str(folder / "state"),
            "files.audit": str(folder / "audit.jsonl"),
            "executors.hostname": name,
        }
        return [f"{key}={json.dumps(value)}" for key, value in options.items()]

    def _answers(self, name: str) -> bool:
        try:
            with self._connecting_to(self._sockets[name])() as client:
                client.hello()
        except (AgentUnreachable, Refused):
            return False
        return True

    def _connecting_to(self, path: Path) -> Callable[[], AgentClient]:
        return lambda: AgentClient.local(path)

    def _log_file(self, name: str) -> Path:
        return self._folders[name] / "stderr.log"

    def _log(self, name: str) -> str:
        return self._log_file(name).read_text(errors="replace")[-_LONGEST_LOG:].strip() or "no log"
