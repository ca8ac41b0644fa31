"""Starts `application` and ends it, at will or by force, with everything it started."""

import json
import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Self

import psutil

from runtime.control.journal import StepRecord, read
from tests.end_to_end.spark.application import CONFIG, NAME
from tests.end_to_end.spark.controlled import PATIENCE_S


class Driver:
    """The process; killed at the end of the `with` block unless it has ended."""

    def __init__(
        self,
        folder: Path,
        master_url: str,
        *,
        host: str = "127.0.0.1",
        executors: int,
        khz: int,
        agents: Mapping[str, str],
        settings: Sequence[str] = (),
        options: Sequence[str] = (),
        wrap: Callable[[Sequence[str]], list[str]] = list,
    ) -> None:
        """`agents` are URLs by the name of their host, `settings` lines of the configuration,
        `options` those of Spark. `wrap` turns its command into one that runs it elsewhere."""
        self.folder = folder
        folder.mkdir()
        urls = [f"{name}={url}" for name, url in agents.items()]
        journal = json.dumps(str(folder / "journal"))
        lines = (f"executors.max = {executors}", f"journal.folder = {journal}", *settings)
        (folder / CONFIG).write_text("\n".join([*lines, f"agents.urls = {json.dumps(urls)}"]))
        self._command = wrap(
            [
                *(sys.executable, "-m", "tests.end_to_end.spark.application"),
                *(master_url, host, str(folder), str(executors), str(khz), *options),
            ]
        )
        self._environment = {
            **os.environ,
            "PYSPARK_PYTHON": sys.executable,
            "SPARK_LOCAL_IP": host,
        }

    def __enter__(self) -> Self:
        with (self.folder / "stderr.log").open("wb") as log:
            self._process = subprocess.Popen(
                self._command,
                env=self._environment,
                cwd=Path(__file__).parents[3],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        with self._process:
            if self.running:
                self.kill()

    @property
    def running(self) -> bool:
        return self._process.poll() is None

    @property
    def journal(self) -> list[StepRecord]:
        assert self.running, self.log
        return list(read(self.folder / "journal" / NAME))

    @property
    def log(self) -> str:
        return (self.folder / "stderr.log").read_text(errors="replace")[-3000:]

    def kill(self) -> None:
        """With SIGKILL, so that it has no chance to give anything back, and its JVM too."""
        python = psutil.Process(self._process.pid)
        for process in (python, *python.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):  # a JVM ends with its Python
                process.kill()
        self._process.wait()

    def finish(self) -> dict[str, int]:
        """Let it end in peace; what it tells of its rows."""
        told, _ = self._process.communicate(timeout=PATIENCE_S)
        assert self._process.returncode == 0, self.log
        found: dict[str, int] = json.loads(told)
        return found
