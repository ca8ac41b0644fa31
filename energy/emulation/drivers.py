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


_GOVERNORS = ("conservative", "ondemand", "userspace", "powersave", "performance", "schedutil")
_SELF_GOVERNED = ("performance", "powersave")


@dataclass(frozen=True, slots=True)
class Personality:
    """One driver: how its policies are governed and which files they have."""

    attributes: tuple[str, ...]
    sets_policy: bool = False
    """The hardware governs itself: only performance and powersave, and powersave is dynamic."""
    has_table: bool = False
    has_boost: bool = False
    status: tuple[str, str] | None = None
    """The folder of the driver's own settings and the mode written there."""

    @property
    def governors(self) -> tuple[str, ...]:
        return _SELF_GOVERNED if self.sets_policy else _GOVERNORS

    @property
    def governor(self) -> str:
        """The one that a freshly booted host uses."""
        return "powersave" if self.sets_policy else "schedutil"


PERSONALITIES: dict[Driver, Personality] = {
    "acpi-cpufreq": Personality(
        attributes=(
            *_COMMON,
            "freqdomain_cpus",
            "scaling_available_frequencies",
            "scaling_boost_frequencies",
            "cpuinfo_cur_freq",
            "boost",
            "bios_limit",
        ),
        has_table=True,
        has_boost=True,
    ),
    "intel_pstate": Personality(
        attributes=(*_COMMON, *_PREFERENCE, "base_frequency"),
        sets_policy=True,
        status=("intel_pstate", "active"),
    ),
    "intel_cpufreq": Personality(attributes=_COMMON, status=("intel_pstate", "passive")),
    "amd-pstate-epp": Personality(
        attributes=(*_COMMON, *_PREFERENCE, "boost"),
        sets_policy=True,
        has_boost=True,
        status=("amd_pstate", "active"),
    ),
    "amd-pstate": Personality(
        attributes=(*_COMMON, "boost"), has_boost=True, status=("amd_pstate", "passive")
    ),
}
