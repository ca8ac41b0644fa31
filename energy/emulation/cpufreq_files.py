"""The files of frequency policies: what each attribute of `policyN` reads and takes.

An inactive policy answers every read and write with EBUSY, the rest is in the model. The settings
that drivers keep for the whole host (boost, no_turbo, max_perf_pct) are in `driver_files`.
"""

import errno
from collections.abc import Callable, Collection, Iterable

from energy.emulation.cpufreq_model import PolicyModel
from energy.emulation.drivers import PREFERENCES
from energy.emulation.files import OWNER_ONLY, READ_ONLY, READ_WRITE, EmulatedFiles
from energy.emulation.kernel_text import (
    KernelRefusal,
    flag,
    frequency_request,
    scanned_unsigned,
    scanned_word,
)
from energy.tree import CPU, CPUFREQ

Read = Callable[[], str]
Write = Callable[[str], None]
Running = Callable[[PolicyModel], int]
SetBoost = Callable[[PolicyModel, bool], None]

CURRENT = ("scaling_cur_freq", "cpuinfo_cur_freq", "cpuinfo_avg_freq")
"""What the hardware runs at: on a captured machine as captured, until something is changed."""
CHANGING = frozenset(
    {
        *CURRENT,
        "affected_cpus",
        "cpuinfo_max_freq",
        "scaling_min_freq",
        "scaling_max_freq",
        "scaling_governor",
        "scaling_setspeed",
        "energy_performance_preference",
        "boost",
        "cpb",
        "bios_limit",
    }
)
"""The files that can read differently from one moment to the next."""


def add_policies(
    files: EmulatedFiles,
    policies: Collection[PolicyModel],
    running_khz: Running,
    set_boost: SetBoost | None,
) -> None:
    for policy in policies:
        _add_policy(files, policy, running_khz, set_boost)
        for cpu in policy.plan.cpus:
            files.link(f"{CPU}/cpu{cpu}/cpufreq", f"{CPUFREQ}/{policy.plan.name}")


def _add_policy(
    files: EmulatedFiles, policy: PolicyModel, running_khz: Running, set_boost: SetBoost | None
) -> None:
    plan = policy.plan
    folder = f"{CPUFREQ}/{plan.name}"
    at_boot = policy.state()

    def current(name: str) -> Read:
        observed = plan.observed.get(name)

        def read() -> str:
            if observed is not None and policy.state() == at_boot:
                return observed
            return str(running_khz(policy))

        return read

    reads: dict[str, Read] = {
        **_texts(policy),
        **_readings(policy),
        **{name: current(name) for name in CURRENT},
        **{name: _constant(text) for name, text in plan.fixed.items()},
    }
    writes = _writes(policy, set_boost)
    for name in (*plan.attributes, *plan.fixed):
        store = writes.get(name)
        mode = READ_ONLY if store is None else READ_WRITE
        files.add(
            f"{folder}/{name}",
            _guarded_read(policy, reads[name]),
            None if store is None else _guarded_write(policy, store),
            OWNER_ONLY if name == "cpuinfo_cur_freq" else mode,
        )


def _texts(policy: PolicyModel) -> dict[str, Read]:
    """What never changes."""
    plan = policy.plan
    table_khz = plan.table_khz or ()
    # Governors are printed with a blank after each, except by drivers that set the policy.
    governors = " ".join(plan.governors) + ("" if policy.sets_policy else " ")
    texts = {
        "related_cpus": _spaced(plan.cpus),
        "freqdomain_cpus": _spaced(plan.domain_cpus),
        "cpuinfo_min_freq": str(plan.min_khz),
        "cpuinfo_transition_latency": "0" if policy.sets_policy else "20000",
        "scaling_driver": plan.driver,
        "scaling_available_governors": governors,
        "scaling_available_frequencies": "".join(f"{khz} " for khz in reversed(table_khz)),
        "scaling_boost_frequencies": "",
        "base_frequency": str(plan.base_khz),
        "energy_performance_available_preferences": f"{PREFERENCES} ",
    }
    return {name: _constant(text) for name, text in texts.items()}


def _readings(policy: PolicyModel) -> dict[str, Read]:
    def bios_limit() -> str:
        table_khz = policy.plan.table_khz
        highest_khz = policy.plan.max_khz if table_khz is None else table_khz[-1]
        limit_khz = policy.capped_khz("firmware")
        return str(highest_khz if limit_khz is None else limit_khz)

    def setspeed() -> str:
        return str(policy.requested_khz()) if policy.governor == "userspace" else "<unsupported>"

    def preference() -> str:
        return "performance" if policy.governor == "performance" else policy.preference

    return {
        "affected_cpus": lambda: _spaced(sorted(policy.online_cpus)),
        # The upper end moves with turbo, where the driver has it.
        "cpuinfo_max_freq": lambda: str(policy.ceiling_khz),
        "scaling_min_freq": lambda: str(policy.shown_limits_khz()[0]),
        "scaling_max_freq": lambda: str(policy.shown_limits_khz()[1]),
        "scaling_governor": lambda: policy.governor,
        "scaling_setspeed": setspeed,
        "energy_performance_preference": preference,
        "boost": lambda: str(int(policy.boost)),
        "cpb": lambda: str(int(policy.boost)),
        "bios_limit": bios_limit,
    }


def _writes(policy: PolicyModel, set_boost: SetBoost | None) -> dict[str, Write]:
    writes: dict[str, Write] = {
        "scaling_min_freq": lambda text: policy.request_min("user", frequency_request(text)),
        "scaling_max_freq": lambda text: policy.request_max("user", frequency_request(text)),
        "scaling_governor": lambda text: policy.set_governor(scanned_word(text)),
        "scaling_setspeed": lambda text: _set_speed(policy, text),
        "energy_performance_preference": lambda text: _prefer(policy, text),
    }
    if set_boost is not None:
        writes["boost"] = writes["cpb"] = lambda text: set_boost(policy, flag(text))
    return writes


def _set_speed(policy: PolicyModel, text: str) -> None:
    if policy.governor != "userspace":
        raise KernelRefusal(errno.EINVAL)
    policy.set_speed(scanned_unsigned(text))


def _prefer(policy: PolicyModel, text: str) -> None:
    word = scanned_word(text, longest=20)
    if word not in PREFERENCES.split():
        raise KernelRefusal(errno.EINVAL)
    if policy.governor == "performance" and word != "performance":
        raise KernelRefusal(errno.EBUSY)
    policy.preference = policy.plan.preference if word == "default" else word


def _guarded_read(policy: PolicyModel, read: Read) -> Read:
    def guarded() -> str:
        if not policy.online_cpus:
            raise KernelRefusal(errno.EBUSY)
        return read() + "\n"

    return guarded


def _guarded_write(policy: PolicyModel, write: Write) -> Write:
    def guarded(text: str) -> None:
        if not policy.online_cpus:
            raise KernelRefusal(errno.EBUSY)
        write(text)

    return guarded


def _constant(text: str) -> Read:
    return lambda: text


def _spaced(cpus: Iterable[int]) -> str:
    return " ".join(str(cpu) for cpu in cpus)
