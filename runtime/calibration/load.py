"""Busy processes for a calibration, one core each, that end with whoever started them.

They carry the command line of a Spark executor, which is all that an agent knows executors by.
"""

import os
import subprocess
import sys
from typing import Self

APPLICATION = "foresight-calibration"
# Looks for its parent now and then only: system calls would not be the load that is meant.
_BUSY = """
import os
parent = os.getppid()
while os.getppid() == parent:
    for _ in range(1_000_000):
        pass
"""


class BusyExecutors:
    def __init__(self, hostname: str) -> None:
        self._hostname = hostname
        self._processes: list[subprocess.Popen[bytes]] = []
        self._started = 0

    @property
    def count(self) -> int:
        return len(self._processes)

    def set_count(self, count: int) -> None:
        """Start or end as many as it takes."""
        while len(self._processes) < count:
            self._processes.append(self._start())
        while len(self._processes) > count:
            process = self._processes.pop()
            process.kill()
            process.wait()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.set_count(0)

    def _start(self) -> subprocess.Popen[bytes]:
        self._started += 1
        return subprocess.Popen(
            [
                *(sys.executable, "-I", "-S", "-c", _BUSY),
                "org.apache.spark.executor.CoarseGrainedExecutorBackend",
                *("--app-id", f"{APPLICATION}-{os.getpid()}"),
                *("--executor-id", str(self._started)),
                *("--hostname", self._hostname, "--cores", "1"),
            ],
            stdin=subprocess.DEVNULL,
        )
