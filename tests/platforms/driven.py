"""The application of these tests as a process: targets go in, its steps come out."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Self

PATIENCE_S = 240.0
Step = dict[str, Any]


class DrivenApplication:
    """Context manager; ends the process whatever happens."""

    def __init__(self, master: str, folder: Path, options: Mapping[str, str]) -> None:
        self._log = folder / "driver.log"
        self._errors = self._log.open("wb")
        self._process = subprocess.Popen(
            [
                *(sys.executable, "-m", "tests.platforms.application", master, str(folder)),
                *(f"{key}={value}" for key, value in options.items()),
            ],
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            text=True,
        )
        self.steps: list[Step] = []
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        try:
            self._process.wait(30.0)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._reader.join(10.0)
        for stream in (self._process.stdin, self._process.stdout, self._errors):
            if stream is not None:
                stream.close()

    def order(self, executors: int) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{executors}\n")
        self._process.stdin.flush()

    def until(self, holds: Callable[[Step], bool], what: str) -> Step:
        """The first step from now on for which it holds."""
        seen = len(self.steps)
        deadline_s = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline_s:
            for step in self.steps[seen:]:
                seen += 1
                if "observed" in step and holds(step):
                    return step
            assert self._process.poll() is None, f"the driver ended: {self._end()}"
            time.sleep(0.1)
        raise AssertionError(f"waited in vain for {what}: {self.steps[-1:]} {self._end()}")

    def runs(self, executors: int) -> Step:
        return self.until(
            lambda step: step["observed"] == executors and not step["leaving"],
            f"{executors} executors",
        )

    def differs(self, before: Step, what: str) -> Step:
        """Other executors than in that step."""
        return self.until(lambda step: set(step["executors"]) != set(before["executors"]), what)

    def events(self) -> set[str]:
        return {event for step in self.steps for event in step.get("events", ())}

    def finish(self) -> Step:
        """Stops the query; what it has written."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        self._process.wait(PATIENCE_S)
        self._reader.join(10.0)
        assert self._process.returncode == 0, self._end()
        return self.steps[-1]

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self.steps.append(json.loads(line))

    def _end(self) -> str:
        return " / ".join(self._log.read_text(errors="replace").splitlines()[-5:])
