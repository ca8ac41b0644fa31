"""An emulated host: a `Tree` that answers as the kernel of a machine with cpufreq and RAPL would.

It keeps the kernel's semantics, not its speed: limits clamp silently, reads are effective values,
errors carry the kernel's numbers. Thread-safe: one lock around everything.
"""

import errno
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from energy.emulation.cpufreq_files import add_policies
from energy.emulation.cpufreq_model import PolicyModel
from energy.emulation.description import HostDescription, HostPlan
from energy.emulation.driver_files import add_driver_settings
from energy.emulation.files import EmulatedFile, EmulatedFiles, FileAction
from energy.emulation.hotplug import Hotplug
from energy.emulation.kernel_text import KernelRefusal
from energy.emulation.powercap_model import Powercap
from energy.emulation.thermal_model import add_cooling_devices

_PAGE = 4096


class EmulatedHost:
    """A host made from a description or a plan."""

    def __init__(self, description: HostDescription | HostPlan | None = None) -> None:
        description = description or HostDescription()
        plan = description if isinstance(description, HostPlan) else description.plan()
        self.plan = plan
        self._lock = threading.Lock()
        self._files = EmulatedFiles()
        self._policies = {
            policy.name: PolicyModel(policy, plan.lag_reads) for policy in plan.policies
        }
        for path, text in plan.texts.items():
            self._files.add_text(path, text)
        models = self._policies.values()
        self._policy_of = {cpu: model for model in models for cpu in model.plan.cpus}
        self._hotplug = Hotplug(self._files, models, plan.package_of, plan.offline)
        if plan.policies:
            set_boost = add_driver_settings(self._files, plan, models)
            add_policies(self._files, models, self._domain_khz, set_boost)
        add_cooling_devices(self._files, models, plan.cooling)
        self._powercap = Powercap(self._files, plan.zones, plan.range_uj, plan.start_uj)
        self._settle()

    @property
    def policies(self) -> tuple[str, ...]:
        return tuple(self._policies)

    @property
    def zones(self) -> tuple[str, ...]:
        """The names that `add_energy_uj` takes."""
        return self._powercap.names

    def read(self, path: str) -> str:
        with self._lock, as_os_error(path):
            return self._open(path, "read").read()

    def write(self, path: str, text: str) -> None:
        with self._lock, as_os_error(path):
            self._store(path, text)

    def names(self, path: str) -> tuple[str, ...]:
        with self._lock:
            return self._files.names(path)

    def mode(self, path: str) -> int | None:
        with self._lock:
            return self._files.mode(path)

    def snapshot(self) -> dict[str, str]:
        """The exact text of every file that a writer can change and that can be read now."""
        with self._lock:
            self._settle()
            texts: dict[str, str] = {}
            for file in self._files.writable():
                try:
                    texts[file.path] = file.read()
                except KernelRefusal:
                    continue
            return texts

    def add_energy_uj(self, zone: str, gained_uj: int) -> None:
        """`zone` as in `zones` ("package-0", "package-0/dram", "psys") or a sysfs id."""
        if gained_uj < 0:
            raise ValueError(f"gained_uj must be at least 0, got {gained_uj}")
        with self._lock:
            self._powercap.find(zone).add(gained_uj)

    def package_of(self, cpu: int) -> int:
        return self.plan.package_of[cpu]

    def running_khz(self, cpu: int) -> int:
        """The clock of a loaded CPU: the highest that a policy of its domain asks for.

        0 for an offline CPU, which executes nothing."""
        with self._lock:
            if not self._hotplug.online(cpu):
                return 0
            return self._domain_khz(self._policy_of[cpu])

    def _settle(self) -> None:
        for policy in self._policies.values():
            policy.settle()

    def _domain_khz(self, policy: PolicyModel) -> int:
        return max(
            self._policy_of[cpu].requested_khz()
            for cpu in (*policy.plan.domain_cpus, *policy.plan.cpus)
            if self._hotplug.online(cpu) and cpu in self._policy_of
        )

    def _open(self, path: str, action: FileAction) -> EmulatedFile:
        file = self._files.find(path)
        # The owner is root, which needs any bit at all: sysfs checks that somebody may.
        if not file.mode & (0o444 if action == "read" else 0o222):
            raise KernelRefusal(errno.EACCES)
        return file

    def _store(self, path: str, text: str) -> None:
        file = self._open(path, "write")
        if file.write is None:
            raise KernelRefusal(errno.EACCES)
        if len(text) > _PAGE or not text.isascii():
            raise KernelRefusal(errno.EINVAL)
        if text:  # sysfs returns before it calls a store with nothing
            file.write(text.partition("\0")[0])


@contextmanager
def as_os_error(path: str) -> Iterator[None]:
    """The kernel's error as Python knows it."""
    try:
        yield
    except KernelRefusal as refused:
        raise OSError(refused.number, os.strerror(refused.number), path) from None
