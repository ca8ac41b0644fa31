"""Every option of the configuration, declared once: key, type, default, unit, range, meaning.

The validation, the commented `foresight.toml` and the table in the docs all read these structs.
`mpc/options.py` says how one is declared. What two options say together is checked in `rules.py`;
reading files is the work of `load.py`.
"""

from typing import Literal

from msgspec import Struct

from mpc.options import Executors, FrequencyKhz, Options, option
from mpc.policies.catalogue import find_policy, policy_names, policy_pattern
from mpc.policies.foresight.options import Cost, Forecast, Horizon, Latency, Limits, Slo
from runtime.config.live import Agents, JournalOptions, Power, Spark
from runtime.config.policy_tables import PolicyTables
from runtime.config.schedule import Schedule
from runtime.config.web import Web


class ExecutorBounds(Options):
    """Bounds of the executor count."""

    min: Executors = option(1, "Smallest number of executors.")
    max: Executors = option(12, "Largest number of executors.")


class Frequency(Options):
    """CPU frequencies of the worker hosts: a range with a step, or a list instead of it."""

    min_khz: FrequencyKhz = option(1_200_000, "Lowest CPU frequency.", "kHz")
    max_khz: FrequencyKhz = option(2_000_000, "Highest CPU frequency.", "kHz")
    step_khz: int = option(
        100_000,
        "Distance between two frequencies; must divide max_khz - min_khz.",
        "kHz",
        ge=1,
        le=10_000_000,
    )
    list_khz: tuple[FrequencyKhz, ...] | None = option(
        None,
        "Frequencies, ascending, in place of min_khz, max_khz and step_khz.",
        "kHz",
        min_length=1,
        max_length=256,
        absent="the range",
        example=(1_200_000, 1_600_000, 2_000_000),
    )

    @property
    def frequencies_khz(self) -> tuple[int, ...]:
        """Every admissible frequency, ascending."""
        if self.list_khz is not None:
            return self.list_khz
        return tuple(range(self.min_khz, self.max_khz + 1, self.step_khz))


class Config(Options):
    """The whole configuration."""

    policy: str = option(
        "foresight",
        "Policy that decides; static-N keeps N executors.",
        pattern=policy_pattern(),
        allowed=", ".join(policy_names()),
    )
    mode: Literal["control", "advise"] = option(
        "control",
        "control acts on Spark and the hosts; advise only writes its decisions to the journal.",
    )
    seed: int = option(1, "Seed of the policies that use random numbers.", ge=0, le=2**63 - 1)
    slo: Slo = Slo()
    cost: Cost = Cost()
    horizon: Horizon = Horizon()
    executors: ExecutorBounds = ExecutorBounds()
    frequency: Frequency = Frequency()
    forecast: Forecast = Forecast()
    limits: Limits = Limits()
    latency: Latency = Latency()
    spark: Spark = Spark()
    agents: Agents = Agents()
    schedule: Schedule = Schedule()
    power: Power = Power()
    journal: JournalOptions = JournalOptions()
    web: Web = Web()
    policies: PolicyTables = PolicyTables()

    @property
    def configurations(self) -> int:
        """Number of configurations the controller chooses from."""
        executor_counts = self.executors.max - self.executors.min + 1
        return executor_counts * len(self.frequency.frequencies_khz)

    def options_of(self, policy: str) -> Struct:
        """The options of a policy by its name; `ValueError` for one that does not exist."""
        entry = find_policy(policy)
        kind = entry.options_type()
        if entry.sections:
            return kind(**{section: getattr(self, section) for section in kind.__struct_fields__})
        if entry.has_table:
            table: Struct = getattr(self.policies, entry.attribute)
            return table
        return kind(**dict(entry.preset))
