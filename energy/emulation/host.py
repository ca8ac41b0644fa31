"""An emulated host: a `Tree` that answers as the kernel of a machine with cpufreq and RAPL would.

It keeps the kernel's semantics, not its speed: limits clamp silently, reads are effective values,
errors carry the kernel's numbers. The methods beyond `Tree` are what hardware, firmware, a fault or
a test does to the host. Thread-safe: one lock around everything.
"""

import errno
import os
import threading
from collections.abc import Callable
from typing import Literal, TypeVar

from energy.emulation.cpufreq_files import add_policies
from energy.emulation.cpufreq_model import PolicyModel
from energy.emulation.description import HostDescription, HostPlan
from energy.emulation.driver_files import add_driver_settings
from energy.emulation.files import Action, Fault, File, Files
from energy.emulation.hotplug import Hotplug
from energy.emulation.kernel_text import Refused
from energy.emulation.powercap_model import Powercap
from energy.emulation.thermal_model import add_cooling_devices

_PAGE = 4096
_Answer = TypeVar("_Answer")


class EmulatedHost:
    """A host made from a description or a plan."""

    def __init__(self, description: HostDescription | HostPlan | None = None) -> None:
        description = description or HostDescription()
        plan = description if isinstance(description, HostPlan) else description.plan()
        self.plan = plan
        self._lock = threading.Lock()
        self._files = Files()
        self._read_only = False
        self._privileged = True
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
        with self._lock:
            return _answer(path, lambda: self._open(path, "read").read())

    def write(self, path: str, text: str) -> None:
        with self._lock:
            _answer(path, lambda: self._store(path, text))

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
                except Refused:
                    continue
            return texts

    def unplug(self, cpu: int) -> None:
        """Take a CPU offline; its policy is inactive when it was the last."""
        with self._lock:
            _answer(f"cpu{cpu}", lambda: self._hotplug.unplug(cpu))

    def plug(self, cpu: int) -> None:
        with self._lock:
            _answer(f"cpu{cpu}", lambda: self._hotplug.plug(cpu))

    def thermal_cap(self, policy: str, khz: int | None) -> None:
        """What cooling allows the policy; None: it needs no cooling."""
        with self._lock:
            self._policies[policy].request_max("thermal", khz)

    def bios_limit(self, policy: str, khz: int | None) -> None:
        """What the firmware allows; only acpi-cpufreq has a file that shows it."""
        with self._lock:
            self._policies[policy].request_max("firmware", khz)

    def add_energy_uj(self, zone: str, gained_uj: int) -> None:
        """`zone` as in `zones` ("package-0", "package-0/dram", "psys") or a sysfs id."""
        if gained_uj < 0:
            raise ValueError(f"gained_uj must be at least 0, got {gained_uj}")
        with self._lock:
            self._powercap.find(zone).add(gained_uj)

    def inject(
        self,
        path: str,
        number: int | None,
        on: Literal["read", "write", "both"] = "both",
        times: int | None = None,
    ) -> None:
        """Let a file fail with an error number; None: let it work again."""
        with self._lock:
            file = _answer(path, lambda: self._files.find(path))
            file.fault = None if number is None else Fault(number, on, times)

    def set_mode(self, path: str, mode: int) -> None:
        with self._lock:
            _answer(path, lambda: self._files.find(path)).mode = mode

    def set_read_only(self, read_only: bool) -> None:
        """As if /sys were mounted read-only."""
        with self._lock:
            self._read_only = read_only

    def set_privileged(self, privileged: bool) -> None:
        """Whether the caller is the owner of the files (root) or anybody."""
        with self._lock:
            self._privileged = privileged

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

    def _open(self, path: str, action: Action) -> File:
        file = self._files.find(path)
        if file.fault is not None and file.fault.hides:
            raise Refused(errno.ENOENT)
        if action == "write" and self._read_only:
            raise Refused(errno.EROFS)
        # The owner is root, which needs any bit at all: sysfs checks that somebody may.
        bits = 0o444 if action == "read" else 0o222
        if not file.mode & (bits if self._privileged else bits & 0o007):
            raise Refused(errno.EACCES)
        if file.fault is not None and file.fault.hits(action):
            raise Refused(file.fault.number)
        return file

    def _store(self, path: str, text: str) -> None:
        file = self._open(path, "write")
        if file.write is None:
            raise Refused(errno.EACCES)
        if len(text) > _PAGE or not text.isascii():
            raise Refused(errno.EINVAL)
        if text:  # sysfs returns before it calls a store with nothing
            file.write(text.partition("\0")[0])


def _answer(path: str, action: Callable[[], _Answer]) -> _Answer:
    """The kernel's error as Python knows it."""
    try:
        return action()
    except Refused as refused:
        raise OSError(refused.number, os.strerror(refused.number), path) from None
