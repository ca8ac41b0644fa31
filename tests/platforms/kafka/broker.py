"""One Kafka broker on loopback: KRaft, so that one process is enough."""

import subprocess
import sys
import time
import uuid
from base64 import urlsafe_b64encode
from dataclasses import dataclass, field
from os import getpid
from pathlib import Path
from typing import Self

from runtime.spark.launching.local_cluster import LEAN_JAVA_OPTIONS, java_command
from tests.support.ports import free_port

START_S = 120.0
_PROPERTIES = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
listeners=PLAINTEXT://127.0.0.1:{broker},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{broker}
controller.listener.names=CONTROLLER
listener.security.protocol.map=CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT
log.dirs={folder}/logs
offsets.topic.replication.factor=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
auto.create.topics.enable=false
"""
_LOGGING = """\
log4j.rootLogger=INFO, out
log4j.appender.out=org.apache.log4j.ConsoleAppender
log4j.appender.out.layout=org.apache.log4j.PatternLayout
log4j.appender.out.layout.ConversionPattern=%d %p %c{1}: %m%n
"""


@dataclass(slots=True)
class KafkaBroker:
    """Context manager; ready when it says so itself."""

    jars: Path
    folder: Path
    address: str = field(default="", init=False)
    _process: subprocess.Popen[bytes] | None = field(default=None, init=False)

    @property
    def pid(self) -> int:
        assert self._process is not None
        return self._process.pid

    def __enter__(self) -> Self:
        self.folder.mkdir(parents=True, exist_ok=True)
        broker, controller = free_port(), free_port()
        self.address = f"127.0.0.1:{broker}"
        properties = self.folder / "server.properties"
        properties.write_text(
            _PROPERTIES.format(broker=broker, controller=controller, folder=self.folder)
        )
        (self.folder / "log4j.properties").write_text(_LOGGING)
        cluster = urlsafe_b64encode(uuid.uuid4().bytes).decode().rstrip("=")
        subprocess.run(
            self._java("kafka.tools.StorageTool", "format", "-t", cluster, "-c", str(properties)),
            check=True,
            capture_output=True,
            timeout=START_S,
        )
        log = self.folder / "broker.log"
        tether = (sys.executable, "-m", "runtime.tether", str(getpid()))
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [*tether, *self._java("kafka.Kafka", str(properties))],
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
            )
        deadline_s = time.monotonic() + START_S
        while b"Kafka Server started" not in log.read_bytes():
            assert self._process.poll() is None, log.read_text()[-2000:]
            assert time.monotonic() < deadline_s, log.read_text()[-2000:]
            time.sleep(0.1)
        return self

    def __exit__(self, *_: object) -> None:
        if self._process is not None:
            self._process.terminate()
            try:
                self._process.wait(20.0)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()

    def _java(self, main_class: str, *arguments: str) -> list[str]:
        java = java_command()
        assert java is not None
        return [
            *(str(java), "-Xmx400m", *LEAN_JAVA_OPTIONS.split()),
            f"-Dlog4j.configuration=file:{self.folder}/log4j.properties",
            *("-cp", f"{self.jars}/*", main_class, *arguments),
        ]
