"""What sets the frequency drivers of the kernel apart, as data: one personality for each."""

from dataclasses import dataclass
from typing import Literal, get_args

Driver = Literal["acpi-cpufreq", "intel_pstate", "intel_cpufreq", "amd-pstate-epp", "amd-pstate"]
DRIVERS: tuple[Driver, ...] = get_args(Driver)

PREFERENCES = "default performance balance_performance balance_power power"

_COMMON = (
    "affected_cpus",
    "related_cpus",
    "cpuinfo_min_freq",
    "cpuinfo_max_freq",
    "cpuinfo_transition_latency",
    "scaling_min_freq",
    "scaling_max_freq",
    "scaling_cur_freq",
    "scaling_driver",
    "scaling_governor",
    "scaling_available_governors",
    "scaling_setspeed",
)
_PREFERENCE = ("energy_performance_preference", "energy_performance_available_preferences")


@dataclass(frozen=True, slots=True)
class Personality:
    """One driver: how its policies are governed and which files they have."""

    driver: Driver
    governors: tuple[str, ...]
    governor: str
    """The one that a freshly booted host uses."""
    sets_policy: bool
    """The hardware governs itself: only performance and powersave, and powersave is dynamic."""
    has_table: bool
    has_boost: bool
    attributes: tuple[str, ...]
    status: tuple[str, str] | None = None
    """The folder of the driver's own settings and the mode written there."""


_GOVERNORS = ("conservative", "ondemand", "userspace", "powersave", "performance", "schedutil")
_SELF_GOVERNED = ("performance", "powersave")

PERSONALITIES: dict[Driver, Personality] = {
    "acpi-cpufreq": Personality(
        driver="acpi-cpufreq",
        governors=_GOVERNORS,
        governor="schedutil",
        sets_policy=False,
        has_table=True,
        has_boost=True,
        attributes=(
            *_COMMON,
            "freqdomain_cpus",
            "scaling_available_frequencies",
            "scaling_boost_frequencies",
            "cpuinfo_cur_freq",
            "boost",
            "bios_limit",
        ),
    ),
    "intel_pstate": Personality(
        driver="intel_pstate",
        governors=_SELF_GOVERNED,
        governor="powersave",
        sets_policy=True,
        has_table=False,
        has_boost=False,
        attributes=(*_COMMON, *_PREFERENCE, "base_frequency"),
        status=("intel_pstate", "active"),
    ),
    "intel_cpufreq": Personality(
        driver="intel_cpufreq",
        governors=_GOVERNORS,
        governor="schedutil",
        sets_policy=False,
        has_table=False,
        has_boost=False,
        attributes=_COMMON,
        status=("intel_pstate", "passive"),
    ),
    "amd-pstate-epp": Personality(
        driver="amd-pstate-epp",
        governors=_SELF_GOVERNED,
        governor="powersave",
        sets_policy=True,
        has_table=False,
        has_boost=True,
        attributes=(*_COMMON, *_PREFERENCE, "boost"),
        status=("amd_pstate", "active"),
    ),
    "amd-pstate": Personality(
        driver="amd-pstate",
        governors=_GOVERNORS,
        governor="schedutil",
        sets_policy=False,
        has_table=False,
        has_boost=True,
        attributes=(*_COMMON, "boost"),
        status=("amd_pstate", "passive"),
    ),
}
