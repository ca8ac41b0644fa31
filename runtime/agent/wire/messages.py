"""What controllers and the agent say to each other: one strict struct for each request and answer.

Requests hold integers, short names and one flag, each with a range; nothing in them is ever a
path. Unknown keys are refused. Durations are whole milliseconds so that no float crosses the wire
inwards.
"""

from typing import Annotated

from msgspec import Meta, Struct

from energy.cpufreq.policy import CpuPolicy, LimitOutcome
from energy.meters.contract import Zone

LARGEST_EXACT = 2**53 - 1
"""The largest integer every JSON reader keeps exactly."""
MOST_POLICIES = 4096

FrequencyKhz = Annotated[int, Meta(ge=10_000, le=10_000_000)]
Epoch = Annotated[int, Meta(ge=1, le=LARGEST_EXACT)]
Sequence = Annotated[int, Meta(ge=1, le=LARGEST_EXACT)]
PolicyName = Annotated[str, Meta(pattern=r"^policy(0|[1-9][0-9]{0,4})\Z", max_length=11)]


class Request(Struct, frozen=True, forbid_unknown_fields=True):
    """Base of what a caller sends."""


class LeaseRequest(Request, frozen=True):
    """Ask to be the one controller of this host."""

    period_ms: Annotated[int, Meta(ge=200, le=60_000)]
    """The control period; the lease ends after three of them without renewal."""
    take_over: bool = False
    """Replace an unexpired lease of the same caller, as a restarted controller does."""


class LeaseCommand(Request, frozen=True):
    """Base of what the holder of a lease sends."""

    epoch: Epoch
    sequence: Sequence


class RenewRequest(LeaseCommand, frozen=True):
    """Keep the lease."""


class ReleaseRequest(LeaseCommand, frozen=True):
    """Give the lease and the host back."""


class FrequencyRequest(LeaseCommand, frozen=True):
    """Cap the frequency of some policies, or of all when none is named."""

    max_khz: FrequencyKhz
    min_khz: FrequencyKhz | None = None
    policies: (
        Annotated[tuple[PolicyName, ...], Meta(min_length=1, max_length=MOST_POLICIES)] | None
    ) = None


class Answer(Struct, frozen=True, omit_defaults=False):
    """Base of what the agent answers."""


class Hello(Answer, frozen=True):
    """Who this agent is and what its host can do."""

    version: str
    host: str
    boot_id: str
    emulated: bool
    policies: tuple[CpuPolicy, ...]
    floor_khz: int | None
    """Lowest cap the operator allows; None: whatever the hardware offers."""
    may_move_minimum: bool
    meter: str | None
    """None: no energy on this host."""
    energy_source: str | None
    meter_reason: str | None
    """Why there is no meter, or none better."""


class LeaseGranted(Answer, frozen=True):
    epoch: int
    holder: str


class Renewed(Answer, frozen=True):
    epoch: int
    expires_in_ms: int


class FrequencySet(Answer, frozen=True):
    outcomes: tuple[LimitOutcome, ...]
    left_alone: tuple[str, ...]
    """Policies that somebody else changed meanwhile; the agent does not fight over them."""


class Released(Answer, frozen=True):
    """What became of each policy that had been changed."""

    restored: tuple[str, ...] = ()
    left_alone: tuple[str, ...] = ()
    """Policies that somebody else changed meanwhile."""
    failed: dict[str, str] = {}
    """Policy to the reason; these are tried again."""


class EnergyReport(Answer, frozen=True):
    """Counters since the agent started; two of them make a power."""

    at_ms: int
    """The agent's clock, for differences only."""
    boot_id: str
    started_ms: int
    """Changes when the agent restarts: counters of two starts must not be subtracted."""
    source: str
    total_uj: int | None
    zones: tuple[Zone, ...]


class ExecutorReport(Answer, frozen=True):
    """A Spark executor on this host: its JVM and its Python workers together."""

    application: str
    executor_id: str
    pid: int
    cores: int | None
    cpu_ms: int
    """CPU time since it began; on an emulated host, that of the emulated CPUs."""


class ExecutorsReport(Answer, frozen=True):
    at_ms: int
    executors: tuple[ExecutorReport, ...]
    busy_ms: int | None = None
    """CPU time of everything on the host since it started; on an emulated host, that of the
    emulated CPUs. None: not known."""
    clock_khz: int | None = None
    """What its busy cores ran at since the last report, which a cap does not say."""


class PolicyStatus(Answer, frozen=True):
    name: str
    active: bool
    original_max_khz: int | None
    """None: the agent has not touched it."""
    requested_khz: int | None
    effective_khz: int | None
    drifted: bool


class Status(Answer, frozen=True):
    version: str
    host: str
    emulated: bool
    uptime_ms: int
    holder: str | None
    epoch: int
    expires_in_ms: int | None
    policies: tuple[PolicyStatus, ...]
    energy_source: str | None
    total_uj: int | None
    accepted: int
    refused: int
    last_problem: str | None
