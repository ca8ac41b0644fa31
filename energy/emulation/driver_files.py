"""The settings that frequency drivers keep for the whole host, and their files.

acpi-cpufreq and amd-pstate have one boost switch above those of the policies, intel_pstate its own
folder. Another driver mode cannot be written: a host stays with the driver it was made with.
"""

import errno
from collections.abc import Callable, Collection

from energy.emulation.cpufreq_model import PolicyModel
from energy.emulation.description import HostPlan
from energy.emulation.drivers import PERSONALITIES
from energy.emulation.files import EmulatedFiles
from energy.emulation.kernel_text import KernelRefusal, scanned_flag, scanned_unsigned, scanned_word
from energy.tree import CPU, CPUFREQ

_MODES = {"active", "passive", "guided", "off", "disable"}


class BoostSwitch:
    """Boost of the whole host; while it is off no policy can turn its own on."""

    def __init__(self, files: EmulatedFiles, policies: Collection[PolicyModel]) -> None:
        self.on = any(policy.boost for policy in policies)
        self._policies = policies
        files.add(f"{CPUFREQ}/boost", lambda: f"{int(self.on)}\n", self._write)

    def set_policy(self, policy: PolicyModel, on: bool) -> None:
        if not self.on:
            raise KernelRefusal(errno.EINVAL)
        _boost(policy, on)

    def _write(self, text: str) -> None:
        wanted = scanned_flag(text)
        if wanted == self.on:  # The kernel then leaves the policies as they are, too.
            return
        self.on = wanted
        for policy in self._policies:
            _boost(policy, wanted)


def _boost(policy: PolicyModel, on: bool) -> None:
    policy.boost = on
    if policy.plan.driver.startswith("amd"):
        policy.set_ceiling(policy.plan.max_khz if on else policy.plan.base_khz)


def add_driver_settings(
    files: EmulatedFiles, plan: HostPlan, policies: Collection[PolicyModel]
) -> Callable[[PolicyModel, bool], None] | None:
    """Add the files; returned is what a policy's own boost file calls, None where there is none."""
    personality = PERSONALITIES[plan.policies[0].driver]
    if personality.status is not None:
        folder, mode = personality.status
        _add_status(files, f"{CPU}/{folder}", mode)
        if folder == "intel_pstate":
            _IntelPstate(files, f"{CPU}/{folder}", policies, plan, passive=mode == "passive")
    return BoostSwitch(files, policies).set_policy if personality.has_boost else None


def _add_status(files: EmulatedFiles, folder: str, mode: str) -> None:
    def write(text: str) -> None:
        word = scanned_word(text)
        if word not in _MODES:
            raise KernelRefusal(errno.EINVAL)
        if word != mode:
            raise KernelRefusal(errno.EBUSY)

    files.add(f"{folder}/status", lambda: f"{mode}\n", write)


class _IntelPstate:
    """no_turbo moves the upper end of every range; max_perf_pct shows in the limits only in passive
    mode, where it is a request beside the user's."""

    def __init__(
        self,
        files: EmulatedFiles,
        folder: str,
        policies: Collection[PolicyModel],
        plan: HostPlan,
        passive: bool,
    ) -> None:
        self._policies = policies
        self._no_turbo = plan.no_turbo
        self._passive = passive
        self._lowest_percent = 100 * plan.policies[0].min_khz // plan.policies[0].max_khz
        self._min_percent, self._max_percent = plan.performance_percent or (
            self._lowest_percent,
            100,
        )
        files.add(f"{folder}/no_turbo", lambda: f"{int(self._no_turbo)}\n", self._set_no_turbo)
        files.add(f"{folder}/max_perf_pct", lambda: f"{self._max_percent}\n", self._set_max)
        files.add(f"{folder}/min_perf_pct", lambda: f"{self._min_percent}\n", self._set_min)
        self._apply()

    def _set_no_turbo(self, text: str) -> None:
        self._no_turbo = scanned_unsigned(text) != 0
        self._apply()

    def _set_max(self, text: str) -> None:
        self._max_percent = max(min(scanned_unsigned(text), 100), self._min_percent)
        self._apply()

    def _set_min(self, text: str) -> None:
        percent = max(scanned_unsigned(text), self._lowest_percent)
        self._min_percent = min(percent, self._max_percent)
        self._apply()

    def _apply(self) -> None:
        for policy in self._policies:
            plan = policy.plan
            policy.set_ceiling(plan.base_khz if self._no_turbo else plan.max_khz)
            highest_khz = plan.max_khz * self._max_percent // 100
            if self._passive:
                policy.request_max("driver", highest_khz)
                policy.request_min("driver", -(-plan.max_khz * self._min_percent // 100))
            else:
                policy.performance_khz = highest_khz
