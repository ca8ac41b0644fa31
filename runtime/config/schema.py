"""Every option of the configuration, declared once: key, type, default, unit, range, meaning.

The validation, the commented `foresight.toml` and the table in the docs all read these structs.
What two options say together is checked in `rules.py`; reading files is the work of `load.py`.

In `Meta.extra`: `unit`; `absent`, what a missing optional value means; `example`, a value to show
for an option without a default; for text with a pattern `allowed`, the names it takes, or `kind`,
what it is ("an absolute path").
"""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from mpc.policies.catalogue import find_policy, policy_names, policy_pattern
from mpc.policies.foresight.options import Cost, Forecast, Horizon, Latency, Limits, Slo
from runtime.config.live import Agents, JournalOptions, Power, Spark
from runtime.config.policy_tables import PolicyTables
from runtime.config.schedule import Schedule
from runtime.config.web import Web

# 10 MHz to 10 GHz: a value in Hz or MHz by mistake falls outside.
FrequencyKhz = Annotated[int, Meta(ge=10_000, le=10_000_000)]


class ExecutorBounds(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds of the executor count."""

    min: Annotated[
        int,
        Meta(
            ge=1, le=1000, description="Smallest number of executors.", extra={"unit": "executors"}
        ),
    ] = 1
    max: Annotated[
        int,
        Meta(
            ge=1, le=1000, description="Largest number of executors.", extra={"unit": "executors"}
        ),
    ] = 12


class Frequency(Struct, frozen=True, forbid_unknown_fields=True):
    """CPU frequencies of the worker hosts: a range with a step, or a list instead of it."""

    min_khz: Annotated[
        FrequencyKhz, Meta(description="Lowest CPU frequency.", extra={"unit": "kHz"})
    ] = 1_200_000
    max_khz: Annotated[
        FrequencyKhz, Meta(description="Highest CPU frequency.", extra={"unit": "kHz"})
    ] = 2_000_000
    step_khz: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000_000,
            description="Distance between two frequencies; must divide max_khz - min_khz.",
            extra={"unit": "kHz"},
        ),
    ] = 100_000
    list_khz: (
        Annotated[
            tuple[FrequencyKhz, ...],
            Meta(
                min_length=1,
                max_length=256,
                description="Frequencies, ascending, in place of min_khz, max_khz and step_khz.",
                extra={
                    "unit": "kHz",
                    "absent": "the range",
                    "example": (1_200_000, 1_600_000, 2_000_000),
                },
            ),
        ]
        | None
    ) = None

    @property
    def frequencies_khz(self) -> tuple[int, ...]:
        """Every admissible frequency, ascending."""
        if self.list_khz is not None:
            return self.list_khz
        return tuple(range(self.min_khz, self.max_khz + 1, self.step_khz))


class Config(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration."""

    policy: Annotated[
        str,
        Meta(
            pattern=policy_pattern(),
            description="Policy that decides; static-N keeps N executors.",
            extra={"allowed": ", ".join(policy_names())},
        ),
    ] = "foresight"
    mode: Annotated[
        Literal["control", "advise"],
        Meta(
            description="control acts on Spark and the hosts; advise only writes its decisions to "
            "the journal."
        ),
    ] = "control"
    seed: Annotated[
        int,
        Meta(
            ge=0,
            le=2**63 - 1,
            description="Seed of the policies that use random numbers.",
        ),
    ] = 1
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
