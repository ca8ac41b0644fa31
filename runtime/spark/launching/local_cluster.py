"""A Spark standalone cluster on this machine: one Master and one Worker for every host.

They are separate JVMs from the pyspark wheel, each Worker under its own loopback address, so that
executors are spread over hosts as on real machines. Drivers are not started here.
"""

import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Self

import psutil
import pyspark

from runtime.agent.host.executors import ExecutorArguments, parse_command_line

MASTER_HOST = "127.0.0.1"
START_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 10.0

_MASTER_URL = re.compile(r"Starting Spark master at (spark://\S+)")
_REGISTERED = "Successfully registered with master"

# What the daemons log is parsed, so it must not depend on a log4j file of the user.
_LOG4J = """\
rootLogger.level = info
rootLogger.appenderRef.stderr.ref = stderr
appender.console.type = Console
appender.console.name = stderr
appender.console.target = SYSTEM_ERR
appender.console.layout.type = PatternLayout
appender.console.layout.pattern = %d{HH:mm:ss.SSS} %p %c{1}: %m%n%ex
"""

# For a JVM that idles or soon ends: no optimising compiler, the collector with the fewest threads.
LEAN_JAVA_OPTIONS = "-XX:+UseSerialGC -XX:TieredStopAtLevel=1"


class ClusterUnavailable(Exception):
    """The cluster cannot be started here, or one of its processes ended."""


@dataclass(frozen=True, slots=True)
class WorkerHost:
    """One host of the cluster; on one machine its name is a loopback address."""

    name: str
    cores: int = 2
    memory_mb: int = 2048


@dataclass(slots=True)
class _Daemon:
    name: str
    log: Path
    process: subprocess.Popen[bytes]

    @property
    def text(self) -> str:
        return self.log.read_text(errors="replace")

    def stop(self) -> None:
        self.process.terminate()

    def wait(self) -> None:
        try:
            self.process.wait(_STOP_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()


@dataclass(slots=True)
class LocalCluster:
    """Context manager; ready when every Worker is registered.

    Enter it in a thread that lives as long as the cluster, as the main thread does: the kernel
    ends the daemons with the thread that started them.
    """

    hosts: Sequence[WorkerHost]
    folder: Path
    properties: Mapping[str, str] = field(default_factory=dict)
    """Spark properties of the daemons, such as `spark.worker.timeout`."""
    master_host: str = MASTER_HOST
    wrap: Callable[[str, Sequence[str]], list[str]] = lambda _, command: list(command)
    """Turns the command of the daemon with an address into one that runs it elsewhere, in a network
    namespace for example. It must become the command, not start it."""
    start_timeout_s: float = START_TIMEOUT_S
    _master: _Daemon | None = field(default=None, init=False)
    _master_url: str = field(default="", init=False)
    _workers: dict[str, _Daemon] = field(default_factory=dict, init=False)

    @property
    def master_url(self) -> str:
        return self._master_url

    @property
    def worker_pids(self) -> dict[str, int]:
        """By the name of the host."""
        return {name: worker.process.pid for name, worker in self._workers.items()}

    @property
    def pids(self) -> tuple[int, ...]:
        return tuple(daemon.process.pid for daemon in self._daemons())

    def executor_pids(self) -> dict[tuple[str, str], int]:
        """Executors that run now, by application and executor id."""
        found = {}
        for pid in self.worker_pids.values():
            with suppress(psutil.NoSuchProcess):
                for child in psutil.Process(pid).children():
                    claim = _claim(child)
                    if claim is not None:
                        found[claim.application, claim.executor_id] = child.pid
        return found

    @property
    def cores(self) -> int:
        return sum(host.cores for host in self.hosts)

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def start(self) -> None:
        missing = why_unavailable()
        if missing is not None:
            raise ClusterUnavailable(missing)
        self.folder = self.folder.absolute()
        self.folder.mkdir(parents=True, exist_ok=True)
        self._logging.write_text(_LOG4J)
        try:
            self._master = self._launch(
                "master",
                self.master_host,
                "org.apache.spark.deploy.master.Master",
                *("--host", self.master_host, "--port", "0", "--webui-port", "0"),
            )
            self._await(self._master, lambda text: _MASTER_URL.search(text) is not None)
            found = _MASTER_URL.search(self._master.text)
            assert found is not None
            self._master_url = found.group(1)
            for host in self.hosts:
                self._launch_worker(host)
            for worker in self._workers.values():
                self._await(worker, lambda text: _REGISTERED in text)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """Idempotent. Workers first: they end their executors."""
        daemons = tuple(self._daemons())
        for daemon in daemons:
            daemon.stop()
        for daemon in daemons:
            daemon.wait()
        self._workers.clear()
        self._master = None

    @property
    def _logging(self) -> Path:
        # Not in a configuration folder: executors inherit that in their class path, and a
        # class-data archive does not take folders with files in it.
        return self.folder / "log4j2.properties"

    def _daemons(self) -> Iterator[_Daemon]:
        yield from self._workers.values()
        if self._master is not None:
            yield self._master

    def _launch_worker(self, host: WorkerHost) -> _Daemon:
        worker = self._launch(
            f"worker-{host.name}",
            host.name,
            "org.apache.spark.deploy.worker.Worker",
            *("--host", host.name, "--port", "0", "--webui-port", "0"),
            *("--cores", str(host.cores), "--memory", f"{host.memory_mb}M"),
            *("--work-dir", str(self.folder / "work" / host.name)),
            self._master_url,
        )
        self._workers[host.name] = worker
        return worker

    def _launch(self, name: str, address: str, main_class: str, *arguments: str) -> _Daemon:
        spark_home = spark_home_folder()
        properties = {
            "log4j2.configurationFile": self._logging.as_uri(),
            "spark.master.rest.enabled": "false",
            **self.properties,
        }
        options = " ".join(f"-D{key}={value}" for key, value in properties.items())
        environment = {
            **os.environ,
            "SPARK_HOME": str(spark_home),
            "SPARK_LOCAL_IP": address,
            "SPARK_LOCAL_DIRS": str(self.folder / "local" / address),
            "SPARK_DAEMON_MEMORY": "192m",
            "SPARK_DAEMON_JAVA_OPTS": f"{LEAN_JAVA_OPTIONS} {options}",
            "PYSPARK_PYTHON": sys.executable,
        }
        log = self.folder / f"{name}.log"
        command = [
            *(sys.executable, "-m", "runtime.tether", str(os.getpid())),
            *(str(spark_home / "bin" / "spark-class"), main_class, *arguments),
        ]
        with log.open("wb") as output:
            process = subprocess.Popen(
                self.wrap(address, command),
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        return _Daemon(name, log, process)

    def _await(self, daemon: _Daemon, is_ready: Callable[[str], bool]) -> None:
        deadline_s = time.monotonic() + self.start_timeout_s
        while not is_ready(daemon.text):
            status = daemon.process.poll()
            if status is not None:
                raise ClusterUnavailable(
                    f"{daemon.name} ended with status {status}: {_last_line(daemon.text)}"
                )
            if time.monotonic() > deadline_s:
                raise ClusterUnavailable(
                    f"{daemon.name} was not ready after {self.start_timeout_s:g} s, "
                    f"see {daemon.log}"
                )
            time.sleep(0.05)


def spark_home_folder() -> Path:
    """The Spark of the installed pyspark, whatever SPARK_HOME says."""
    return Path(pyspark.__file__).parent


def java_command() -> Path | None:
    """The java that Spark would run; None where there is none."""
    home = os.environ.get("JAVA_HOME")
    found = shutil.which("java", path=str(Path(home) / "bin")) if home else shutil.which("java")
    return None if found is None else Path(found)


def why_unavailable() -> str | None:
    """Why no cluster can be started on this machine; None if it can."""
    if java_command() is None:
        return "Spark needs Java 17 or newer: install a JRE or set JAVA_HOME"
    return None


def _claim(process: psutil.Process) -> ExecutorArguments | None:
    try:
        return parse_command_line(b"\0".join(map(os.fsencode, process.cmdline())) + b"\0")
    except psutil.Error:
        return None


def _last_line(text: str) -> str:
    with suppress(IndexError):
        return text.strip().splitlines()[-1]
    return "it wrote nothing"
