"""Policies one after the other on the same cluster, with the same quotes.

The cluster is the user's, or one of this machine with emulated hosts: each a Spark Worker and an
agent whose frequency slows its executors down; their energy is emulated and says so. The cluster
stays, every policy gets a driver of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.hft.demo_load import WAVE
from benchmarks.hft.experiment import HftExperiment, HftOutcome
from benchmarks.hft.pipeline.placement import Method
from benchmarks.hft.stream.replay import Replay
from benchmarks.results import Comparison, Provenance
from runtime.fleet.local import LocalHosts
from runtime.spark.launching.archive import find_archive, make_archive
from runtime.spark.launching.local_cluster import LocalCluster, WorkerHost
from runtime.spark.launching.options import add_worker_folder

_WORKER_MEMORY_MB = 700
"""For one executor of 512 MB."""
_STEP_S = 1.0
_EMULATED_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""On a share of a core the second compiler and a parallel collector never pay for themselves."""


@dataclass(frozen=True, slots=True)
class EmulatedHosts:
    """Hosts of this machine, which share its cores."""

    hosts: int = 3
    cpus: int = 2
    core_share: float = 0.3
    """What an emulated CPU has of a real core at the highest frequency."""
    free_cpu_s: float = 10.0
    """CPU time of a new executor before that share holds."""
    full_power_w: float = 30.0
    """Of one host."""

    @property
    def executors(self) -> int:
        return self.hosts * self.cpus

    @property
    def words(self) -> str:
        return f"{self.hosts} emulated hosts with {self.cpus} x {self.core_share:g} core"


@dataclass(frozen=True, slots=True)
class GivenCluster:
    """A standalone cluster that runs already, with agents on its hosts."""

    master_url: str
    agents: tuple[str, ...]
    """host=address, as in agents.urls."""
    executors: int

    @property
    def words(self) -> str:
        return f"{self.master_url}, up to {self.executors} executors"


@dataclass(frozen=True, slots=True)
class HftSetting:
    """The cluster, the load and the target of a comparison."""

    cluster: EmulatedHosts | GivenCluster = EmulatedHosts()
    replay: Replay = WAVE
    warm_up_s: float = 190.0
    """Executors start, load their libraries and catch up; policies see one wave."""
    duration_s: float = 180.0
    target_s: float = 12.5
    trigger_interval_s: float = 12.0
    scaling_interval_s: float = 15.0
    """Of spark-ratio. Spark's own is a minute, in which the demo's wave has come and gone."""
    placement: Method = "balanced"
    seed: int = 1
    overrides: tuple[str, ...] = ()


StepSeen = Callable[[str, dict[str, Any]], None]
"""Called with the policy and one control step, as `experiment` tells it."""


@dataclass(frozen=True, slots=True)
class _Cluster:
    master_url: str
    agents: tuple[str, ...]
    executors: int
    driver_host: str | None = None
    java_options: str | None = None
    overrides: tuple[str, ...] = ()


def compare(
    policies: Sequence[str], setting: HftSetting, begin: Callable[[str], None], on_step: StepSeen
) -> Comparison:
    """Every policy once. Raises `RuntimeError` with the end of the log when a driver fails."""
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresight-hft-")))
        cluster = stack.enter_context(running(setting.cluster, folder, begin))
        experiments = [
            experiment_of(policy, setting, cluster, folder / policy) for policy in policies
        ]
        for experiment in experiments:
            experiment.check()
        outcomes = []
        for experiment in experiments:
            begin(f"{experiment.policy}: starting, measured after {setting.warm_up_s:g} s")
            outcomes.append(drive(experiment, begin, on_step))
    sources = {outcome.power_source for outcome in outcomes}
    return Comparison(
        scenario="hft",
        source=f"{described(setting.replay)}; {setting.cluster.words}",
        threshold_s=setting.target_s,
        step_s=_STEP_S,
        runs=tuple(outcome.run for outcome in outcomes),
        # One that is only modelled is nothing that was measured, whatever the others are.
        provenance=Provenance("spark", "measured" if sources == {"measured"} else "emulated"),
    )


def described(replay: Replay) -> str:
    """What is replayed, for people."""
    content = f"quotes of {Path(replay.path).name}" if replay.path else "generated quotes"
    if replay.symbols is not None:
        content += f", {replay.symbols} symbols"
    rate = replay.rate or ("recorded" if replay.path else "constant")
    match rate:
        case "recorded":
            return f"{content}, {replay.acceleration:g} times as fast as recorded"
        case "wave":
            trough_per_s = (
                replay.peak_per_s / 4 if replay.trough_per_s is None else replay.trough_per_s
            )
            return (
                f"{content}, a wave of {trough_per_s:g} to {replay.peak_per_s:g} quotes/s "
                f"every {replay.period_s:g} s"
            )
        case _:
            return f"{content}, {rate} up to {replay.peak_per_s:g} quotes/s"


@contextmanager
def running(
    cluster: EmulatedHosts | GivenCluster, folder: Path, begin: Callable[[str], None]
) -> Iterator[_Cluster]:
    """The cluster for as long as the block lasts; its logs go to `folder`."""
    if isinstance(cluster, GivenCluster):
        yield _Cluster(cluster.master_url, cluster.agents, cluster.executors)
        return
    names = [f"127.0.0.{number + 2}" for number in range(cluster.hosts)]
    begin("making a class-data archive for executors, once" if _no_archive() else "starting")
    archive = make_archive()
    begin("starting agents and cluster")
    with (
        LocalHosts(
            names,
            cpus=cluster.cpus,
            full_power_w=cluster.full_power_w,
            cores_share=cluster.core_share,
            free_cpu_s=cluster.free_cpu_s,
            folder=folder / "hosts",
        ) as hosts,
        LocalCluster(
            [WorkerHost(name, cluster.cpus, cluster.cpus * _WORKER_MEMORY_MB) for name in names],
            folder / "cluster",
        ) as local,
    ):
        yield _Cluster(
            local.master_url,
            tuple(f"{name}=unix:{path}" for name, path in hosts.sockets.items()),
            cluster.executors,
            "127.0.0.1",
            " ".join(filter(None, (archive.java_options, _EMULATED_JAVA_OPTIONS))),
            (f"power.full_power_w={cluster.hosts * cluster.full_power_w}",),
        )


def experiment_of(
    policy: str, setting: HftSetting, cluster: _Cluster, folder: Path
) -> HftExperiment:
    return HftExperiment(
        master_url=cluster.master_url,
        agents=cluster.agents,
        policy=policy,
        seed=setting.seed,
        warm_up_s=setting.warm_up_s,
        duration_s=setting.duration_s,
        replay=msgspec.structs.replace(
            setting.replay, seed=setting.seed, partitions=cluster.executors
        ),
        trigger_interval_s=setting.trigger_interval_s,
        placement=setting.placement,
        driver_host=cluster.driver_host,
        executor_java_options=cluster.java_options,
        initial_executors=max(cluster.executors // 2, 1),
        state_partitions=max(cluster.executors // 2, 1),
        partitions=cluster.executors,
        folder=str(folder),
        overrides=(
            f"slo.latency_ms={setting.target_s * 1e3}",
            "executors.min=1",
            f"executors.max={cluster.executors}",
            f"horizon.step_s={_STEP_S}",
            f"policies.spark-ratio.batch_interval_s={setting.trigger_interval_s}",
            f"policies.spark-ratio.scaling_interval_s={setting.scaling_interval_s}",
            *cluster.overrides,
            *setting.overrides,
        ),
    )


def drive(experiment: HftExperiment, begin: Callable[[str], None], on_step: StepSeen) -> HftOutcome:
    """Run one experiment in a driver process of its own."""
    folder = Path(experiment.folder)
    folder.mkdir(parents=True)
    spec, log = folder / "experiment.json", folder / "driver.log"
    spec.write_bytes(msgspec.json.encode(experiment))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    if experiment.driver_host is not None:
        environment["SPARK_LOCAL_IP"] = experiment.driver_host
    add_worker_folder(environment)
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.hft.experiment", str(spec)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env=environment,
        ) as driver,
    ):
        assert driver.stdout is not None
        outcome: HftOutcome | None = None
        try:
            for line in driver.stdout:
                document = json.loads(line)
                if "step" in document:
                    on_step(experiment.policy, document["step"])
                elif "page" in document:
                    begin(f"{experiment.policy}: page at {document['page']}")
                else:
                    outcome = msgspec.convert(document["outcome"], HftOutcome)
        finally:
            driver.terminate() if outcome is None else driver.wait()
    if outcome is None:
        tail = " / ".join(log.read_text(errors="replace").strip().splitlines()[-5:])
        raise RuntimeError(f"the driver of {experiment.policy} failed: {tail}")
    return outcome


def _no_archive() -> bool:
    return find_archive().java_options is None
