"""CPUs that come and go: the lists of the kernel, `cpuN/online`, and their packages.

A policy loses CPUs as they go offline and is inactive without any; what was requested of it stays.
"""

import errno
from collections.abc import Collection, Mapping

from energy.emulation.cpufreq_model import PolicyModel
from energy.emulation.files import EmulatedFiles
from energy.emulation.kernel_text import KernelRefusal, boolean, cpu_list
from energy.tree import CPU


class Hotplug:
    """Which CPUs are present and online."""

    def __init__(
        self,
        files: EmulatedFiles,
        policies: Collection[PolicyModel],
        package_of: Mapping[int, int],
        offline: frozenset[int],
    ) -> None:
        self._present = tuple(sorted(package_of))
        self._policy_of = {cpu: policy for policy in policies for cpu in policy.plan.cpus}
        self._online = set(self._present)
        for cpu in offline:
            self.unplug(cpu)
        self._add_lists(files)
        for cpu in self._present:
            if cpu != 0:  # x86 cannot take its boot CPU offline, so the file is not there.
                self._add_switch(files, cpu)
            files.add_text(f"{CPU}/cpu{cpu}/topology/physical_package_id", str(package_of[cpu]))

    def online(self, cpu: int) -> bool:
        return cpu in self._online

    def plug(self, cpu: int) -> None:
        self._check(cpu)
        self._online.add(cpu)
        if cpu in self._policy_of:
            self._policy_of[cpu].online_cpus.add(cpu)

    def unplug(self, cpu: int) -> None:
        self._check(cpu)
        if self._online == {cpu}:
            raise KernelRefusal(errno.EBUSY)
        self._online.discard(cpu)
        if cpu in self._policy_of:
            self._policy_of[cpu].online_cpus.discard(cpu)

    def _check(self, cpu: int) -> None:
        if cpu not in self._present:
            raise KernelRefusal(errno.ENODEV)

    def _add_lists(self, files: EmulatedFiles) -> None:
        present = cpu_list(self._present)
        files.add_text(f"{CPU}/present", present)
        files.add_text(f"{CPU}/possible", present)
        files.add(f"{CPU}/online", lambda: cpu_list(sorted(self._online)) + "\n")
        files.add(
            f"{CPU}/offline",
            lambda: cpu_list([cpu for cpu in self._present if cpu not in self._online]) + "\n",
        )

    def _add_switch(self, files: EmulatedFiles, cpu: int) -> None:
        def write(text: str) -> None:
            if boolean(text):
                self.plug(cpu)
            else:
                self.unplug(cpu)

        files.add(f"{CPU}/cpu{cpu}/online", lambda: f"{int(cpu in self._online)}\n", write)
