"""A cluster of this machine for one application: `foresight submit --local` runs on it.

Every host is a Spark Worker under a loopback address and, if emulated, an agent whose frequency
slows its executors down. The configuration that comes out is the user's, fitted to that cluster.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import msgspec
import psutil

from runtime.config import Config
from runtime.config.live import Agents, Power
from runtime.fleet.local import LocalHosts
from runtime.spark.launching.local_cluster import MASTER_HOST, LocalCluster, WorkerHost

EMULATED_HOST_W = 30.0
"""Full power of an emulated host whose configuration does not say what the hosts draw."""
_FREE_CPU_S = 10.0
"""A new executor has a whole core for so long: on a share of one its start would take a minute."""
_LEAST_SHARE = 0.02
_MOST_HOSTS = 16
_MOST_CPUS = 64
_EXECUTOR_MB = 512
_WRITTEN = re.compile(r"([1-9][0-9]{0,3})(?:x([1-9][0-9]{0,3}))?")


@dataclass(frozen=True, slots=True)
class LocalSetting:
    """Equal hosts, how many and with how many CPUs each."""

    hosts: int
    cpus: int = 1
    emulated: bool = False

    @classmethod
    def parse(cls, text: str, emulated: bool = False) -> Self:
        """From `HOSTS` or `HOSTSxCPUS`, such as 4 or 2x2."""
        found = _WRITTEN.fullmatch(text)
        hosts, cpus = (int(number or 1) for number in found.groups()) if found else (0, 0)
        if not (1 <= hosts <= _MOST_HOSTS and 1 <= cpus <= _MOST_CPUS):
            raise ValueError(
                f"{text!r} must be HOSTS or HOSTSxCPUS with at most {_MOST_HOSTS} hosts of "
                f"{_MOST_CPUS} CPUs, such as 4 or 2x2"
            )
        return cls(hosts, cpus, emulated)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(f"127.0.0.{number + 2}" for number in range(self.hosts))

    @property
    def words(self) -> str:
        cpus = "1 CPU" if self.cpus == 1 else f"{self.cpus} CPUs"
        hosts = "1 host" if self.hosts == 1 else f"{self.hosts} hosts"
        return f"{hosts} of {cpus} on this machine{', emulated' if self.emulated else ''}"


@dataclass(frozen=True, slots=True)
class LocalRun:
    """The running cluster, and what an application on it needs."""

    master_url: str
    config: Config
    options: Mapping[str, str]
    """Of Spark; what the user sets counts instead."""


@contextmanager
def local_run(setting: LocalSetting, config: Config, executor_cores: int = 1) -> Iterator[LocalRun]:
    """The cluster for as long as the block lasts. Enter it in the main thread.

    Raises `ClusterUnavailable`, and `ValueError` for a configuration that does not fit.
    """
    fitted = fitted_config(setting, config, executor_cores)
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(
                tempfile.TemporaryDirectory(prefix="foresight-local-", ignore_cleanup_errors=True)
            )
        )
        if setting.emulated:
            hosts = stack.enter_context(_emulated_hosts(setting, fitted))
            urls = tuple(f"{name}=unix:{path}" for name, path in hosts.sockets.items())
            fitted = msgspec.structs.replace(fitted, agents=Agents(urls=urls))
        workers = [
            WorkerHost(name, setting.cpus, max(_machine_mb(), setting.cpus * _EXECUTOR_MB))
            for name in setting.names
        ]
        cluster = stack.enter_context(LocalCluster(workers, folder))
        yield LocalRun(cluster.master_url, fitted, _options(folder))


def fitted_config(setting: LocalSetting, config: Config, executor_cores: int = 1) -> Config:
    """The same configuration for no more executors than the cluster has room for, and with the
    power of its emulated hosts."""
    room = setting.hosts * (setting.cpus // executor_cores)
    if room < config.executors.min:
        raise ValueError(
            f"--local {setting.hosts}x{setting.cpus} has room for {room} executors, fewer than "
            f"executors.min = {config.executors.min}"
        )
    if config.agents.urls:
        raise ValueError("agents.urls must be left out with --local, which has hosts of its own")
    most = min(config.executors.max, room)
    power = config.power
    if setting.emulated and power.full_power_w is None:
        power = Power(full_power_w=EMULATED_HOST_W * setting.hosts)
    return msgspec.structs.replace(
        config, executors=msgspec.structs.replace(config.executors, max=most), power=power
    )


def core_share(setting: LocalSetting, cores: int) -> float:
    """What an emulated CPU has of a real core, so that all of them fit on the machine."""
    return min(1.0, max(_LEAST_SHARE, cores / (setting.hosts * setting.cpus)))


def _emulated_hosts(setting: LocalSetting, config: Config) -> LocalHosts:
    frequencies_khz = config.frequency.nominal_khz
    assert config.power.full_power_w is not None
    return LocalHosts(
        setting.names,
        cpus=setting.cpus,
        # An emulated CPU has a range, also where the controller chooses from one frequency.
        min_khz=min(frequencies_khz[0], frequencies_khz[-1] // 2),
        max_khz=frequencies_khz[-1],
        full_power_w=config.power.full_power_w / setting.hosts,
        cores_share=core_share(setting, os.cpu_count() or 1),
        free_cpu_s=_FREE_CPU_S,
    )


def _options(folder: Path) -> dict[str, str]:
    return {
        "spark.driver.host": MASTER_HOST,
        "spark.driver.bindAddress": MASTER_HOST,
        "spark.executor.memory": f"{_EXECUTOR_MB}m",
        "spark.sql.warehouse.dir": str(folder / "warehouse"),
        "spark.ui.showConsoleProgress": "false",
    }


def _machine_mb() -> int:
    """What a Worker offers is bookkeeping: each may offer all there is."""
    return int(psutil.virtual_memory().total // 1_000_000)
