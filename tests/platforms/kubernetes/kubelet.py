"""A node whose pods are processes of this machine: it starts the executors that Spark asks for.

The container's image would hold Spark and an entry point that turns environment variables into a
command line; here that command line is made from the same variables, with the Spark of the
installed pyspark. Every pod has a loopback address of its own.
"""

import asyncio
import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from runtime.spark.launching.local_cluster import (
    LEAN_JAVA_OPTIONS,
    java_command,
    spark_home_folder,
)

Pod = dict[str, Any]
_EXECUTOR = "org.apache.spark.scheduler.cluster.k8s.KubernetesExecutorBackend"
_JAVA_OPTION = "SPARK_JAVA_OPT_"


@dataclass(slots=True)
class Node:
    """How soon it runs a pod, and how many at a time; both may change while it runs."""

    start_s: float = 0.0
    most_pods: int = 100


@dataclass(slots=True)
class Kubelet:
    """Runs in one event loop; `changed` is called with a pod whose status is new."""

    node: Node
    folder: Path
    changed: Callable[[Pod], None]
    _processes: dict[str, asyncio.subprocess.Process] = field(default_factory=dict)
    _deleted: set[str] = field(default_factory=set)

    def pids(self) -> dict[str, int]:
        """Of the pods that run, by name."""
        running = self._processes.items()
        return {name: process.pid for name, process in running if process.returncode is None}

    async def run(self, pod: Pod) -> None:
        """From its creation to its end."""
        name = str(pod["metadata"]["name"])
        await asyncio.sleep(self.node.start_s)
        while len(self.pids()) >= self.node.most_pods and name not in self._deleted:
            await asyncio.sleep(0.2)
        if name in self._deleted:
            return
        address = f"127.0.1.{int(pod['metadata']['labels']['spark-exec-id']) % 250 + 1}"
        folder = self.folder / name
        folder.mkdir(parents=True)
        environment = _environment(pod, name, address, folder)
        with (folder / "log").open("wb") as log:
            process = await asyncio.create_subprocess_exec(
                *_command(environment, name, address),
                env=environment,
                cwd=folder,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=asyncio.subprocess.STDOUT,
            )
        self._processes[name] = process
        pod["status"] |= {"phase": "Running", "podIP": address}
        self._tell(pod, {"running": {}})
        code = await process.wait()
        if name not in self._deleted:
            pod["status"]["phase"] = "Failed" if code else "Succeeded"
            self._tell(pod, {"terminated": {"exitCode": code if code >= 0 else 128 - code}})

    async def delete(self, name: str) -> None:
        """Ends its process, and waits for it."""
        self._deleted.add(name)
        process = self._processes.get(name)
        if process is not None and process.returncode is None:
            process.terminate()
            try:
                await asyncio.wait_for(process.wait(), 10.0)
            except TimeoutError:
                process.kill()
                await process.wait()

    def _tell(self, pod: Pod, state: Mapping[str, object]) -> None:
        container = str(pod["spec"]["containers"][0]["name"])
        pod["status"]["containerStatuses"] = [
            {
                "name": container,
                "ready": "running" in state,
                "restartCount": 0,
                "image": "none",
                "imageID": "none",
                "state": state,
            }
        ]
        self.changed(pod)


def _environment(pod: Pod, name: str, address: str, folder: Path) -> dict[str, str]:
    fields = {"status.podIP": address, "metadata.name": name}
    made = {key: value for key, value in os.environ.items() if not key.startswith("SPARK_")}
    for entry in pod["spec"]["containers"][0].get("env", []):
        source = entry.get("valueFrom", {}).get("fieldRef", {}).get("fieldPath")
        made[entry["name"]] = fields.get(source, "") if source else entry.get("value", "")
    return made | {"SPARK_LOCAL_DIRS": str(folder)}


def _command(environment: Mapping[str, str], name: str, address: str) -> list[str]:
    java = java_command()
    assert java is not None
    given = sorted(
        (key for key in environment if key.startswith(_JAVA_OPTION)),
        key=lambda key: int(key.removeprefix(_JAVA_OPTION)),
    )
    memory = environment["SPARK_EXECUTOR_MEMORY"]
    return [
        # A pod ends with the tests, however they end.
        *(sys.executable, "-m", "runtime.tether", str(os.getpid())),
        str(java),
        *(environment[key] for key in given),
        *LEAN_JAVA_OPTIONS.split(),
        *(f"-Xms{memory}", f"-Xmx{memory}"),
        *("-cp", f"{spark_home_folder()}/jars/*", _EXECUTOR),
        *("--driver-url", environment["SPARK_DRIVER_URL"]),
        *("--executor-id", environment["SPARK_EXECUTOR_ID"]),
        *("--cores", environment["SPARK_EXECUTOR_CORES"]),
        *("--app-id", environment["SPARK_APPLICATION_ID"]),
        *("--hostname", address),
        *("--resourceProfileId", environment["SPARK_RESOURCE_PROFILE_ID"]),
        *("--podName", name),
    ]
