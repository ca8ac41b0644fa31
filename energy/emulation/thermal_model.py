"""Cooling devices: where a thermal cap of a policy shows, and through which one can be set.

An ACPI "Processor" stands for one CPU, a "cpufreq-cpuN" for one policy. A state above 0 means that
the frequency is being held down, by 20 % of the range for each step as ACPI does it.
"""

import errno
from collections.abc import Collection

from energy.emulation.cpufreq_model import PolicyModel
from energy.emulation.description import Cooling
from energy.emulation.files import EmulatedFiles
from energy.emulation.kernel_text import KernelRefusal, unsigned_long
from energy.tree import THERMAL

MAX_STATE = 3
STEP_PERCENT = 20


def add_cooling_devices(
    files: EmulatedFiles, policies: Collection[PolicyModel], cooling: Cooling | None
) -> None:
    if cooling is None:
        return
    by_cpu = {cpu: policy for policy in policies for cpu in policy.plan.cpus}
    if cooling == "processor":
        devices = [("Processor", policy) for _, policy in sorted(by_cpu.items())]
    else:
        devices = [(f"cpufreq-cpu{policy.plan.cpus[0]}", policy) for policy in policies]
    for number, (kind, policy) in enumerate(devices):
        folder = f"{THERMAL}/cooling_device{number}"
        files.add_text(f"{folder}/type", kind)
        files.add_text(f"{folder}/max_state", str(MAX_STATE))
        _add_state(files, f"{folder}/cur_state", policy)


def _add_state(files: EmulatedFiles, path: str, policy: PolicyModel) -> None:
    max_khz = policy.plan.max_khz

    def read() -> str:
        cap_khz = policy.capped_khz("thermal")
        if cap_khz is None:
            return "0\n"
        # Ceiling division: the state that holds the frequency at or below the cap.
        percent = -(-100 * (max_khz - cap_khz) // max_khz)
        return f"{min(max(-(-percent // STEP_PERCENT), 1), MAX_STATE)}\n"

    def write(text: str) -> None:
        state = unsigned_long(text)
        if state > MAX_STATE:
            raise KernelRefusal(errno.EINVAL)
        cap_khz = max_khz * (100 - STEP_PERCENT * state) // 100
        policy.request_max("thermal", cap_khz if state else None)

    files.add(path, read, write)
