"""An emulated host to which hardware, firmware or a fault can do something."""

import errno
from typing import Literal

from energy.emulation.description import HostDescription, HostPlan
from energy.emulation.files import EmulatedFile, FileAction
from energy.emulation.host import EmulatedHost, as_os_error
from energy.emulation.kernel_text import KernelRefusal


class Fault:
    """An error that a file answers with instead of working, forever or a number of times."""

    def __init__(self, number: int, on: Literal["read", "write", "both"], left: int | None) -> None:
        self.number = number
        self.on = on
        self.left = left

    def hits(self, action: FileAction) -> bool:
        if self.on not in {"both", action} or self.left == 0:
            return False
        if self.left is not None:
            self.left -= 1
        return True

    @property
    def hides(self) -> bool:
        """A file that is missing is not listed either."""
        return self.number == errno.ENOENT and self.on == "both" and self.left is None


class FaultyHost(EmulatedHost):
    def __init__(self, description: HostDescription | HostPlan | None = None) -> None:
        self._faults: dict[EmulatedFile, Fault] = {}
        self._read_only = False
        self._privileged = True
        super().__init__(description)

    def unplug(self, cpu: int) -> None:
        """Take a CPU offline; its policy is inactive when it was the last."""
        with self._lock, as_os_error(f"cpu{cpu}"):
            self._hotplug.unplug(cpu)

    def plug(self, cpu: int) -> None:
        with self._lock, as_os_error(f"cpu{cpu}"):
            self._hotplug.plug(cpu)

    def thermal_cap(self, policy: str, khz: int | None) -> None:
        """What cooling allows the policy; None: it needs no cooling."""
        with self._lock:
            self._policies[policy].request_max("thermal", khz)

    def bios_limit(self, policy: str, khz: int | None) -> None:
        """What the firmware allows; only acpi-cpufreq has a file that shows it."""
        with self._lock:
            self._policies[policy].request_max("firmware", khz)

    def inject(
        self,
        path: str,
        number: int | None,
        on: Literal["read", "write", "both"] = "both",
        times: int | None = None,
    ) -> None:
        """Let a file fail with an error number; None: let it work again."""
        with self._lock, as_os_error(path):
            file = self._files.find(path)
            self._faults.pop(file, None)
            if number is not None:
                self._faults[file] = Fault(number, on, times)

    def set_mode(self, path: str, mode: int) -> None:
        with self._lock, as_os_error(path):
            self._files.find(path).mode = mode

    def set_read_only(self, read_only: bool) -> None:
        """As if /sys were mounted read-only."""
        with self._lock:
            self._read_only = read_only

    def set_privileged(self, privileged: bool) -> None:
        """Whether the caller is the owner of the files (root) or anybody."""
        with self._lock:
            self._privileged = privileged

    def names(self, path: str) -> tuple[str, ...]:
        folder = path.rstrip("/")
        return tuple(name for name in super().names(path) if not self._hides(f"{folder}/{name}"))

    def mode(self, path: str) -> int | None:
        return None if self._hides(path) else super().mode(path)

    def _hides(self, path: str) -> bool:
        with self._lock:
            try:
                fault = self._faults.get(self._files.find(path))
            except KernelRefusal:
                return False
        return fault is not None and fault.hides

    def _open(self, path: str, action: FileAction) -> EmulatedFile:
        fault = self._faults.get(self._files.find(path))
        if fault is not None and fault.hides:
            raise KernelRefusal(errno.ENOENT)
        if action == "write" and self._read_only:
            raise KernelRefusal(errno.EROFS)
        file = super()._open(path, action)
        if not self._privileged and not file.mode & (0o004 if action == "read" else 0o002):
            raise KernelRefusal(errno.EACCES)
        if fault is not None and fault.hits(action):
            raise KernelRefusal(fault.number)
        return file
