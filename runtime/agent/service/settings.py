"""Every option of the agent, declared once: key, type, default, unit, range, meaning.

Read by the same strict loader as the controller's configuration (`runtime.config`); the conventions
of `Meta.extra` are those of `runtime.config.schema`. What options say together is checked in
`contradictions` below.
"""

from collections.abc import Iterator
from ipaddress import ip_address
from typing import Annotated, Literal

from msgspec import Meta, Struct

from runtime.config.strict import Contradiction


def _path(description: str, absent: str, example: str) -> Meta:
    return Meta(
        pattern=r"^/[^\x00]*$",
        max_length=1024,
        description=description,
        extra={"kind": "an absolute path", "absent": absent, "example": example},
    )


class Listen(Struct, frozen=True, forbid_unknown_fields=True):
    """Where controllers reach the agent."""

    address: (
        Annotated[
            str,
            Meta(
                pattern=r"^[0-9A-Fa-f:.]+$",
                max_length=45,
                description="IP address for controllers. Anything but loopback needs [tls].",
                extra={
                    "kind": "an IP address",
                    "absent": "no TCP, the UNIX socket alone",
                    "example": "127.0.0.1",
                },
            ),
        ]
        | None
    ) = None
    port: Annotated[
        int, Meta(ge=0, le=65535, description="TCP port; 0 takes a free one and logs it.")
    ] = 9797
    socket: Annotated[
        str,
        Meta(
            pattern=r"^/[^\x00]*$",
            max_length=107,
            description="UNIX socket of the local administration, mode 0660.",
            extra={"kind": "an absolute path of at most 107 characters"},
        ),
    ] = "/run/foresight/agent.sock"
    socket_group: (
        Annotated[
            str,
            Meta(
                pattern=r"^[a-z_][a-z0-9_-]{0,31}$",
                description="Group that may use the UNIX socket.",
                extra={
                    "kind": "the name of a group",
                    "absent": "the agent's own group",
                    "example": "foresight",
                },
            ),
        ]
        | None
    ) = None


class Tls(Struct, frozen=True, forbid_unknown_fields=True):
    """Mutual TLS 1.3 for controllers: all of these, or none on loopback."""

    authority: (
        Annotated[
            str,
            _path(
                "Certificate of the private authority that signed the controllers.",
                "no TLS",
                "/etc/foresight/ca.pem",
            ),
        ]
        | None
    ) = None
    certificate: (
        Annotated[str, _path("Certificate of this agent.", "no TLS", "/etc/foresight/agent.pem")]
        | None
    ) = None
    key: (
        Annotated[
            str,
            _path(
                "Key of this agent, readable by its owner alone.",
                "no TLS",
                "/etc/foresight/agent.key",
            ),
        ]
        | None
    ) = None
    allowed: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")], ...],
        Meta(
            max_length=64,
            description="Names of the controllers that may command, as in their certificates.",
            extra={"kind": "a list of at most 64 names"},
        ),
    ] = ("controller",)


class FrequencyRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What controllers may do to the CPU frequency."""

    actuation: Annotated[
        Literal["cap", "userspace"],
        Meta(
            description="Cap the frequency and leave the governor alone, or switch to the "
            "userspace governor and set the speed."
        ),
    ] = "cap"
    floor_khz: (
        Annotated[
            int,
            Meta(
                ge=10_000,
                le=10_000_000,
                description="Lowest frequency a controller may cap at.",
                extra={"unit": "kHz", "absent": "the hardware minimum", "example": 1_200_000},
            ),
        ]
        | None
    ) = None
    min_dwell_ms: Annotated[
        int,
        Meta(
            ge=0,
            le=60_000,
            description="Shortest time between two changes.",
            extra={"unit": "ms"},
        ),
    ] = 200
    may_move_minimum: Annotated[
        bool, Meta(description="Whether controllers may set scaling_min_freq as well.")
    ] = False


class EnergyRules(Struct, frozen=True, forbid_unknown_fields=True):
    """How the energy of the host is read."""

    meter: Annotated[
        Literal["auto", "powercap", "pyrapl", "modelled", "none"],
        Meta(description="Meter to use; auto takes the best there is."),
    ] = "auto"
    full_power_w: Annotated[
        float,
        Meta(
            gt=0,
            le=100_000,
            description="Power of the host under full load, for the modelled meter.",
            extra={"unit": "W"},
        ),
    ] = 100.0


class CallerLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """Bounds on what callers may cost."""

    requests_per_s: Annotated[
        float,
        Meta(
            gt=0, le=10_000, description="Sustained requests of one caller.", extra={"unit": "1/s"}
        ),
    ] = 20.0
    burst: Annotated[int, Meta(ge=1, le=10_000, description="Requests of one caller at once.")] = 40
    max_connections: Annotated[
        int, Meta(ge=1, le=1000, description="Connections open at the same time.")
    ] = 32
    timeout_s: Annotated[
        float,
        Meta(
            ge=0.1,
            le=60,
            description="Longest TLS handshake, and longest wait for a complete request.",
            extra={"unit": "s"},
        ),
    ] = 5.0
    idle_timeout_s: Annotated[
        float,
        Meta(
            ge=1,
            le=3600,
            description="An idle connection is closed after this time.",
            extra={"unit": "s"},
        ),
    ] = 75.0


class AgentFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the agent keeps its journal and its audit log."""

    state: Annotated[
        str,
        Meta(
            pattern=r"^/[^\x00]*$",
            max_length=1024,
            description="Folder of the journal of originals.",
            extra={"kind": "an absolute path"},
        ),
    ] = "/var/lib/foresight"
    audit: Annotated[
        str,
        Meta(
            pattern=r"^/[^\x00]*$",
            max_length=1024,
            description="Audit log: every command, accepted or refused, one JSON line each.",
            extra={"kind": "an absolute path"},
        ),
    ] = "/var/log/foresight/audit.jsonl"
    audit_max_mb: Annotated[
        int,
        Meta(
            ge=1,
            le=10_000,
            description="Size at which the audit log is rotated; one older file is kept.",
            extra={"unit": "MB"},
        ),
    ] = 50


class ExecutorRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Which Spark executors belong to this host."""

    hostname: (
        Annotated[
            str,
            Meta(
                pattern=r"^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$",
                description="Only executors that Spark registered under this host name.",
                extra={
                    "kind": "a host name or IP address",
                    "absent": "all on this machine",
                    "example": "127.0.0.2",
                },
            ),
        ]
        | None
    ) = None


class Emulation(Struct, frozen=True, forbid_unknown_fields=True):
    """An emulated host in place of the real one, for machines without cpufreq or RAPL."""

    enabled: Annotated[bool, Meta(description="Whether the host is emulated.")] = False
    driver: Annotated[
        Literal["acpi-cpufreq", "intel_pstate", "intel_cpufreq", "amd-pstate-epp"],
        Meta(description="Driver whose behaviour is emulated."),
    ] = "acpi-cpufreq"
    cpus: Annotated[int, Meta(ge=1, le=1024, description="CPUs, one policy each.")] = 2
    min_khz: Annotated[
        int,
        Meta(ge=10_000, le=10_000_000, description="Lowest frequency.", extra={"unit": "kHz"}),
    ] = 1_200_000
    max_khz: Annotated[
        int,
        Meta(ge=10_000, le=10_000_000, description="Highest frequency.", extra={"unit": "kHz"}),
    ] = 2_000_000
    share: Annotated[
        float,
        Meta(
            ge=0.02,
            le=1,
            description="What one emulated CPU has of a real core at its highest frequency; less "
            "than 1 puts more emulated CPUs on a machine than it has cores. Needs a throttle.",
        ),
    ] = 1.0
    free_cpu_s: Annotated[
        float,
        Meta(
            ge=0,
            le=3600,
            description="CPU time that a new executor may use before its share holds, so that it "
            "starts as fast as on a real host.",
            extra={"unit": "s"},
        ),
    ] = 0.0
    throttle: Annotated[
        Literal["auto", "cgroup-v1", "cgroup-v2", "duty-cycle", "none"],
        Meta(description="How the emulated frequency slows the executors down."),
    ] = "auto"


class AgentConfig(Struct, frozen=True, forbid_unknown_fields=True):
    """The whole configuration of an agent."""

    listen: Listen = Listen()
    tls: Tls = Tls()
    frequency: FrequencyRules = FrequencyRules()
    energy: EnergyRules = EnergyRules()
    guard: CallerLimits = CallerLimits()
    files: AgentFiles = AgentFiles()
    executors: ExecutorRules = ExecutorRules()
    emulation: Emulation = Emulation()

    @property
    def has_tls(self) -> bool:
        return self.tls.authority is not None


def contradictions(config: AgentConfig) -> Iterator[Contradiction]:
    yield from _address(config)
    yield from _tls(config)
    if config.emulation.min_khz >= config.emulation.max_khz:
        yield (
            (("emulation", "min_khz"), f"must be below max_khz = {config.emulation.max_khz}"),
            (("emulation", "max_khz"), f"must be above min_khz = {config.emulation.min_khz}"),
        )
    if config.emulation.share < 1 and config.emulation.throttle == "none":
        yield (
            (("emulation", "share"), "must be 1 with throttle = none, which slows nothing down"),
            (("emulation", "throttle"), "must not be none with share < 1"),
        )


def _address(config: AgentConfig) -> Iterator[Contradiction]:
    address = config.listen.address
    if address is None:
        return
    try:
        parsed = ip_address(address)
    except ValueError:
        yield ((("listen", "address"), "must be an IP address"),)
        return
    if not parsed.is_loopback and not config.has_tls:
        yield (
            (
                ("listen", "address"),
                "must be a loopback address unless tls.authority, tls.certificate and tls.key "
                "are given",
            ),
        )


def _tls(config: AgentConfig) -> Iterator[Contradiction]:
    files = {name: getattr(config.tls, name) for name in ("authority", "certificate", "key")}
    missing = [name for name, path in files.items() if path is None]
    given = [name for name, path in files.items() if path is not None]
    if missing and given:
        words = f"must stand together with {' and '.join(f'tls.{name}' for name in missing)}"
        yield tuple((("tls", name), words) for name in given)
