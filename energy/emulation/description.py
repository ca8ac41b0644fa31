"""What an emulated host is made of, as values: a short description, or a plan that says it all.

`HostDescription` is for people and tests and has a default for everything. `HostPlan` names every
policy and package; a description turns into one, a captured machine is one.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from energy.emulation.drivers import DRIVERS, PERSONALITIES, Driver

Cooling = Literal["processor", "cpufreq"]
"""How thermal throttling shows: an ACPI "Processor" for each CPU, or "cpufreq-cpuN" a policy."""

TABLE_STEP_KHZ = 100_000
INTEL_RANGE_UJ = 262_143_328_850
AMD_RANGE_UJ = 65_532_610_987


@dataclass(frozen=True, slots=True)
class PolicyPlan:
    """One policy as it is at boot."""

    number: int
    cpus: tuple[int, ...]
    domain_cpus: tuple[int, ...]
    driver: Driver
    min_khz: int
    max_khz: int
    base_khz: int
    """Without turbo or boost."""
    table_khz: tuple[int, ...] | None
    """Ascending; None for a continuous range."""
    governors: tuple[str, ...]
    governor: str
    attributes: tuple[str, ...]
    """The live files; whatever else there is stands in `fixed`."""
    fixed: Mapping[str, str] = field(default_factory=dict)
    observed: Mapping[str, str] = field(default_factory=dict)
    """Frequencies read from a machine that was partly idle: shown while nothing was changed."""
    user_min_khz: int | None = None
    user_max_khz: int | None = None
    firmware_khz: int | None = None
    setspeed_khz: int | None = None
    boost: bool = True
    preference: str = "balance_performance"

    @property
    def name(self) -> str:
        return f"policy{self.number}"


@dataclass(frozen=True, slots=True)
class ZonePlan:
    """One energy counter; `parent` is the name of the package of a core or dram zone."""

    name: str
    parent: str | None = None
    duplicate: bool = False
    """Also there as intel-rapl-mmio."""


@dataclass(frozen=True, slots=True)
class HostPlan:
    """Everything an emulated host starts with."""

    policies: tuple[PolicyPlan, ...]
    package_of: Mapping[int, int]
    """Every CPU that is present, and its physical package."""
    zones: tuple[ZonePlan, ...]
    range_uj: int
    start_uj: int = 0
    cooling: Cooling | None = "processor"
    lag_reads: int = 0
    no_turbo: bool = False
    performance_percent: tuple[int, int] | None = None
    """min_perf_pct and max_perf_pct of intel_pstate; None: all the hardware can do."""
    offline: frozenset[int] = frozenset()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Other files by path, without their line ends; they never change."""


@dataclass(frozen=True, slots=True)
class HostDescription:
    """A host of equal policies."""

    driver: Driver = "acpi-cpufreq"
    cpus: int = 4
    cpus_per_policy: int = 1
    cpus_per_domain: int | None = None
    """How many CPUs share a clock; None: as many as share a policy."""
    min_khz: int = 1_200_000
    max_khz: int = 2_400_000
    base_khz: int | None = None
    """Without turbo; None: the same as with it."""
    table_khz: tuple[int, ...] | None = None
    """Only for acpi-cpufreq; None: steps of 100 MHz. It may end below `max_khz`."""
    governor: str | None = None
    packages: int = 1
    dies_per_package: int = 1
    """With more than one, each die has a zone of its own: package-0-die-1."""
    subzones: tuple[str, ...] = ("core", "dram")
    psys: bool = False
    mmio: bool = False
    """Whether each package shows a second time as intel-rapl-mmio."""
    powercap: bool = True
    range_uj: int | None = None
    """Where counters wrap; None: as on Intel or AMD, by the driver."""
    start_uj: int = 0
    cooling: Cooling | None = "processor"
    lag_reads: int = 0
    """How many reads after a write of a limit still show the old one: the kernel applies it from a
    work item."""

    def __post_init__(self) -> None:
        for name in ("cpus", "cpus_per_policy", "min_khz", "packages", "dies_per_package"):
            if getattr(self, name) < 1:
                raise ValueError(f"{name} must be at least 1, got {getattr(self, name)}")
        if self.driver not in DRIVERS:
            raise ValueError(f"driver must be one of {', '.join(DRIVERS)}, got {self.driver!r}")
        if self.max_khz < self.min_khz:
            raise ValueError(f"max_khz must be at least {self.min_khz}, got {self.max_khz}")
        if self.base_khz is not None and not self.min_khz <= self.base_khz <= self.max_khz:
            raise ValueError(
                f"base_khz must be {self.min_khz}..{self.max_khz}, got {self.base_khz}"
            )
        domain = self.cpus_per_policy if self.cpus_per_domain is None else self.cpus_per_domain
        if domain < 1 or domain % self.cpus_per_policy:
            raise ValueError(
                f"cpus_per_domain must be a multiple of {self.cpus_per_policy}, got {domain}"
            )
        if self.packages > self.cpus:
            raise ValueError(f"packages must be at most {self.cpus}, got {self.packages}")
        if self.range_uj is not None and self.range_uj < 1:
            raise ValueError(f"range_uj must be at least 1, got {self.range_uj}")
        if not 0 <= self.start_uj <= self.counter_range_uj:
            raise ValueError(f"start_uj must be 0..{self.counter_range_uj}, got {self.start_uj}")
        if self.lag_reads < 0:
            raise ValueError(f"lag_reads must be at least 0, got {self.lag_reads}")
        governors = PERSONALITIES[self.driver].governors
        if self.governor is not None and self.governor not in governors:
            raise ValueError(
                f"governor must be one of {', '.join(governors)}, got {self.governor!r}"
            )
        self._check_table()

    def _check_table(self) -> None:
        table_khz = self.table_khz
        if table_khz is None:
            return
        if not PERSONALITIES[self.driver].has_table:
            raise ValueError(f"table_khz is only for acpi-cpufreq, the driver is {self.driver}")
        if not table_khz or list(table_khz) != sorted(set(table_khz)):
            raise ValueError(f"table_khz must ascend, got {table_khz}")
        if table_khz[0] != self.min_khz or table_khz[-1] > self.max_khz:
            raise ValueError(
                f"table_khz must start at {self.min_khz} and end by {self.max_khz}, got {table_khz}"
            )

    @property
    def counter_range_uj(self) -> int:
        if self.range_uj is not None:
            return self.range_uj
        return AMD_RANGE_UJ if self.driver.startswith("amd") else INTEL_RANGE_UJ

    def plan(self) -> HostPlan:
        """The same host with everything spelled out."""
        return HostPlan(
            policies=tuple(
                self._policy(first) for first in range(0, self.cpus, self.cpus_per_policy)
            ),
            package_of={cpu: cpu * self.packages // self.cpus for cpu in range(self.cpus)},
            zones=self._zones() if self.powercap else (),
            range_uj=self.counter_range_uj,
            start_uj=self.start_uj,
            cooling=self.cooling,
            lag_reads=self.lag_reads,
        )

    def _policy(self, first: int) -> PolicyPlan:
        personality = PERSONALITIES[self.driver]
        table_khz = self.table_khz
        if table_khz is None and personality.has_table:
            steps = range(self.min_khz, self.max_khz, TABLE_STEP_KHZ)
            table_khz = (*steps, self.max_khz)
        return PolicyPlan(
            number=first,
            cpus=self._group(first, self.cpus_per_policy),
            domain_cpus=self._group(first, self.cpus_per_domain or self.cpus_per_policy),
            driver=self.driver,
            min_khz=self.min_khz,
            max_khz=self.max_khz,
            base_khz=self.base_khz or self.max_khz,
            table_khz=table_khz,
            governors=personality.governors,
            governor=self.governor or personality.governor,
            attributes=personality.attributes,
        )

    def _group(self, cpu: int, size: int) -> tuple[int, ...]:
        first = cpu - cpu % size
        return tuple(range(first, min(first + size, self.cpus)))

    def _zones(self) -> tuple[ZonePlan, ...]:
        packages = [f"package-{number}" for number in range(self.packages)]
        if self.dies_per_package > 1:
            dies = range(self.dies_per_package)
            packages = [f"{package}-die-{die}" for package in packages for die in dies]
        zones: list[ZonePlan] = []
        for package in packages:
            zones.append(ZonePlan(package, duplicate=self.mmio))
            zones.extend(ZonePlan(name, parent=package) for name in self.subzones)
        if self.psys:
            zones.append(ZonePlan("psys"))
        return tuple(zones)
