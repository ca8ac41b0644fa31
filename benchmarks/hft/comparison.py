"""Policies one after the other on the same emulated cluster, with the same quotes.

Each host is a Spark Worker and an agent whose frequency slows its executors down; their energy is
emulated and says so. The cluster stays, every policy gets a driver of its own.
"""

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.hft.experiment import Experiment
from benchmarks.hft.replay import Replay
from benchmarks.results import Comparison, Run
from runtime.fleet.local import LocalHosts
from runtime.spark.cluster import LocalCluster, WorkerHost

_WORKER_MEMORY_MB = 700
"""For one executor of 512 MB."""


@dataclass(frozen=True, slots=True)
class Setting:
    """The cluster, the load and the target of a comparison."""

    hosts: int = 2
    cpus: int = 2
    core_share: float = 0.45
    """What an emulated CPU has of a real core at the highest frequency."""
    full_power_w: float = 30.0
    """Of one host."""
    peak_per_s: float = 4000.0
    trough_per_s: float = 500.0
    period_s: float = 60.0
    symbols: int = 100
    warm_up_s: float = 80.0
    """Executors on a share of a core take so long to start, load their libraries and catch up."""
    duration_s: float = 120.0
    target_s: float = 5.0
    trigger_interval_s: float = 1.0
    scaling_interval_s: float = 20.0
    seed: int = 1
    overrides: tuple[str, ...] = ()

    @property
    def executors(self) -> int:
        return self.hosts * self.cpus


StepSeen = Callable[[str, dict[str, Any]], None]
"""Called with the policy and one control step, as `experiment` tells it."""


def compare(
    policies: Sequence[str], setting: Setting, begin: Callable[[str], None], on_step: StepSeen
) -> Comparison:
    """Every policy once. Raises `RuntimeError` with the end of the log when a driver fails."""
    names = [f"127.0.0.{number + 2}" for number in range(setting.hosts)]
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresight-hft-")))
        begin("starting agents and cluster")
        hosts = stack.enter_context(
            LocalHosts(
                names,
                cpus=setting.cpus,
                full_power_w=setting.full_power_w,
                cores_share=setting.core_share,
                folder=folder / "hosts",
            )
        )
        cluster = stack.enter_context(
            LocalCluster(
                [
                    WorkerHost(name, setting.cpus, setting.cpus * _WORKER_MEMORY_MB)
                    for name in names
                ],
                folder / "cluster",
            )
        )
        runs = []
        for policy in policies:
            begin(policy)
            experiment = _experiment(policy, setting, cluster, hosts, folder / policy)
            runs.append(_drive(experiment, folder / policy, on_step))
    return Comparison(
        scenario="hft",
        source=(
            f"generated quotes, a wave of {setting.trough_per_s:g} to {setting.peak_per_s:g} "
            f"quotes/s every {setting.period_s:g} s, {setting.symbols} symbols; "
            f"{setting.hosts} emulated hosts with {setting.cpus} x {setting.core_share:g} core"
        ),
        threshold_s=setting.target_s,
        step_s=1.0,
        runs=tuple(runs),
    )


def _experiment(
    policy: str, setting: Setting, cluster: LocalCluster, hosts: LocalHosts, folder: Path
) -> Experiment:
    return Experiment(
        master_url=cluster.master_url,
        agents={name: str(path) for name, path in hosts.sockets.items()},
        policy=policy,
        seed=setting.seed,
        warm_up_s=setting.warm_up_s,
        duration_s=setting.duration_s,
        replay=Replay(
            rate="wave",
            peak_per_s=setting.peak_per_s,
            trough_per_s=setting.trough_per_s,
            period_s=setting.period_s,
            symbols=setting.symbols,
            seed=setting.seed,
            partitions=setting.executors,
        ),
        trigger_interval_s=setting.trigger_interval_s,
        scaling_interval_s=setting.scaling_interval_s,
        partitions=setting.executors,
        folder=str(folder),
        overrides=(
            f"slo.latency_ms={setting.target_s * 1e3}",
            "executors.min=1",
            f"executors.max={setting.executors}",
            f"power.full_power_w={setting.hosts * setting.full_power_w}",
            "horizon.step_s=1.0",
            "horizon.steps=12",
            *setting.overrides,
        ),
    )


def _drive(experiment: Experiment, folder: Path, on_step: StepSeen) -> Run:
    folder.mkdir(parents=True)
    spec, log = folder / "experiment.json", folder / "driver.log"
    spec.write_bytes(msgspec.json.encode(experiment))
    with (
        log.open("wb") as errors,
        subprocess.Popen(
            [sys.executable, "-m", "benchmarks.hft.experiment", str(spec)],
            stdout=subprocess.PIPE,
            stderr=errors,
            env={**os.environ, "PYSPARK_PYTHON": sys.executable, "SPARK_LOCAL_IP": "127.0.0.1"},
        ) as driver,
    ):
        assert driver.stdout is not None
        run: Run | None = None
        try:
            for line in driver.stdout:
                document = json.loads(line)
                if "step" in document:
                    on_step(experiment.policy, document["step"])
                else:
                    run = msgspec.convert(document["run"], Run)
        finally:
            driver.terminate() if run is None else driver.wait()
    if run is None:
        tail = " / ".join(log.read_text(errors="replace").strip().splitlines()[-5:])
        raise RuntimeError(f"the driver of {experiment.policy} failed: {tail}")
    return run
