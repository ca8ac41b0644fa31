"""The host an agent serves: the machine it runs on, or an emulated one in its place."""

from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Protocol

from energy.errors import MeterUnavailable
from energy.host_load import HostLoad, LoadReader
from energy.meters.choose import ChosenMeter, choose_meter
from energy.meters.contract import PowerSource
from energy.tree import FolderTree, Tree
from runtime.agent.host.executors import Executor, ExecutorFinder
from runtime.agent.service.settings import AgentConfig, EnergyRules
from runtime.clock import HostClock

_BOOT_ID = "/proc/sys/kernel/random/boot_id"


class Host(Protocol):
    """What the daemon needs of a host, real or not; used by one thread."""

    tree: Tree
    emulated: bool

    def executors(self) -> Sequence[Executor]: ...

    def load(self) -> HostLoad | None:
        """How busy the whole host has been; None: it does not say."""
        ...

    def follow(self) -> None:
        """Let what is not the kernel's own work catch up with the frequencies; `HostError`s say
        what could not."""
        ...

    def close(self) -> None: ...


class RealHost:
    """The machine, or a tree below `root` that looks like one."""

    emulated = False

    def __init__(self, root: Path, finder: ExecutorFinder) -> None:
        self.tree: Tree = FolderTree(root)
        self._finder = finder
        self._load = LoadReader(self.tree)

    def executors(self) -> Sequence[Executor]:
        return self._finder.find()

    def load(self) -> HostLoad | None:
        return self._load.read()

    def follow(self) -> None:
        """The kernel does it."""

    def close(self) -> None:
        """Nothing was made."""


def open_host(config: AgentConfig, root: Path, clock: HostClock) -> Host:
    finder = ExecutorFinder(config.executors.hostname)
    if not config.emulation.enabled:
        return RealHost(root, finder)
    # Not loaded by an agent on a real host.
    host: Host = import_module("runtime.agent.host.virtual_host").VirtualHost(config, finder, clock)
    return host


def open_meter(rules: EnergyRules, host: Host) -> ChosenMeter:
    """Frequencies can be set without a meter, so that none is no reason to stop."""
    source: PowerSource = "emulated" if host.emulated else "measured"
    try:
        return choose_meter(rules.meter, host.tree, rules.full_power_w, source)
    except MeterUnavailable as error:
        return ChosenMeter(None, str(error))


def read_boot_id(tree: Tree) -> str:
    """The kernel's own, unless the tree has one of its own."""
    try:
        return tree.read(_BOOT_ID).strip()
    except OSError:
        return FolderTree("/").read(_BOOT_ID).strip()
