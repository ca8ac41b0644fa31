"""Policies one after the other on the same cluster, with the same quotes; several rounds if wanted.

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
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from benchmarks.hft.experiment import HftExperiment, HftOutcome, RunningCluster
from benchmarks.hft.rounds import HftRound, order_of
from benchmarks.hft.setting import EmulatedHosts, GivenCluster, HftSetting, described
from benchmarks.results import Comparison, Provenance
from runtime.fleet.local import LocalHosts
from runtime.spark.launching.archive import find_archive, make_archive
from runtime.spark.launching.local_cluster import LocalCluster, WorkerHost
from runtime.spark.launching.options import add_worker_folder

_WORKER_MEMORY_MB = 700
"""For one executor of 512 MB."""
_EMULATED_JAVA_OPTIONS = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
"""On a share of a core the second compiler and a parallel collector never pay for themselves."""


StepSeen = Callable[[str, dict[str, Any]], None]
"""Called with the policy and one control step, as `experiment` reports it."""


def compare(
    policies: Sequence[str],
    setting: HftSetting,
    begin: Callable[[str], None],
    on_step: StepSeen,
    rounds: int = 1,
    on_run: Callable[[HftRound], None] = lambda _: None,
) -> Comparison:
    """Every policy once a round; `on_run` sees every run as it ends.

    Every round has quotes of its own. Raises `RuntimeError` with the end of the log when a driver
    fails: what was measured until then, `on_run` has seen.
    """
    outcomes = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="foresight-hft-")))
        cluster = stack.enter_context(running(setting.cluster, folder, begin))
        for policy in policies:
            HftExperiment(policy, setting, cluster, str(folder)).check()
        for number in range(1, rounds + 1):
            own = replace(setting, seed=setting.seed + number - 1)
            for policy in order_of(policies, number):
                label = policy if rounds == 1 else f"round {number} of {rounds}, {policy}"
                begin(f"{label}: starting, measured after {setting.warm_up_s:g} s")
                experiment = HftExperiment(policy, own, cluster, str(folder / f"{policy}-{number}"))
                found = drive(experiment, begin, on_step)
                outcomes.append(found)
                on_run(HftRound.of_run(found.run, number, setting.steps))
    sources = {outcome.power_source for outcome in outcomes}
    return Comparison(
        scenario="hft",
        source=f"{described(setting.replay)}; {setting.cluster.words}",
        threshold_s=setting.target_s,
        step_s=setting.step_s,
        runs=tuple(outcome.run for outcome in outcomes),
        # One that is only modelled is nothing that was measured, whatever the others are.
        provenance=Provenance("spark", "measured" if sources == {"measured"} else "emulated"),
    )


@contextmanager
def running(
    cluster: EmulatedHosts | GivenCluster, folder: Path, begin: Callable[[str], None]
) -> Iterator[RunningCluster]:
    """The cluster for as long as the block lasts; its logs go to `folder`."""
    if isinstance(cluster, GivenCluster):
        yield RunningCluster(cluster.master_url, cluster.agents, cluster.executors)
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
        yield RunningCluster(
            local.master_url,
            tuple(f"{name}=unix:{path}" for name, path in hosts.sockets.items()),
            cluster.executors,
            "127.0.0.1",
            " ".join(filter(None, (archive.java_options, _EMULATED_JAVA_OPTIONS))),
            (f"power.full_power_w={cluster.hosts * cluster.full_power_w}",),
        )


def drive(experiment: HftExperiment, begin: Callable[[str], None], on_step: StepSeen) -> HftOutcome:
    """Run one experiment in a driver process of its own."""
    folder = Path(experiment.folder)
    folder.mkdir(parents=True)
    spec, log = folder / "experiment.json", folder / "driver.log"
    spec.write_bytes(msgspec.json.encode(experiment))
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable}
    driver_host = experiment.cluster.driver_host
    if driver_host is not None:
        environment["SPARK_LOCAL_IP"] = driver_host
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
