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


PAPER_KHZ = (1_200_000, 2_000_000, 100_000)
"""Lowest, highest and step of the MPC paper's machine (De Matteis and Mencagli 2016), for machines
that are simulated or emulated."""


class Frequency(Options):
    """CPU frequencies of the worker hosts: those that their agents report, unless narrowed here."""

    min_khz: FrequencyKhz | None = option(
        None, "Lowest CPU frequency.", "kHz", absent="the hosts' lowest", example=1_200_000
    )
    max_khz: FrequencyKhz | None = option(
        None,
        "Highest CPU frequency.",
        "kHz",
        absent="the hosts' highest without turbo",
        example=2_000_000,
    )
    step_khz: int | None = option(
        None,
        "Distance between two frequencies, from the highest down.",
        "kHz",
        ge=1,
        le=10_000_000,
        absent="the hosts' table, or 100000 or a multiple that gives at most 16 frequencies",
        example=100_000,
    )
    list_khz: tuple[FrequencyKhz, ...] | None = option(
        None,
        "Frequencies, ascending, in place of min_khz, max_khz and step_khz. Those that the hosts "
        "do not have are left out.",
        "kHz",
        min_length=1,
        max_length=256,
        absent="the range",
        example=(1_200_000, 1_600_000, 2_000_000),
    )
    turbo: bool = option(
        False,
        "Whether frequencies above the hosts' base frequency are used. How long a host can hold "
        "them depends on its temperature, so predictions of latency and power are less certain.",
    )

    @property
    def nominal_khz(self) -> tuple[int, ...]:
        """Of a machine that is simulated or emulated, ascending: as configured, otherwise that of
        the MPC paper."""
        if self.list_khz is not None:
            return self.list_khz
        low_khz, high_khz, step_khz = PAPER_KHZ
        high_khz = self.max_khz or max(high_khz, self.min_khz or 0)
        low_khz = self.min_khz or min(low_khz, high_khz)
        return tuple(sorted(range(high_khz, low_khz - 1, -(self.step_khz or step_khz))))


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
