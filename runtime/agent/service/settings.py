"""Every option of the agent, declared once: key, type, default, unit, range, meaning.

Read by the same strict loader as the controller's configuration (`runtime.config`); the conventions
of `Meta.extra` are those of `runtime.config.schema`. What options say together is checked in
`contradictions` below. Who may write the file is checked by the daemon, not here.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta, Struct

from runtime.config.strict import Contradiction, read_strictly

DEFAULT_PATH = Path("/etc/foresight/agent.toml")


def _number(
    description: str, least: float, most: float, unit: str | None = None, **extra: object
) -> Meta:
    extra |= {} if unit is None else {"unit": unit}
    return Meta(ge=least, le=most, description=description, extra=extra)


def _positive(description: str, most: float, unit: str) -> Meta:
    return Meta(gt=0, le=most, description=description, extra={"unit": unit})


def _path(description: str, longest: int = 1024, **extra: object) -> Meta:
    extra.setdefault("kind", "an absolute path")
    return Meta(pattern=r"^/[^\x00]*$", max_length=longest, description=description, extra=extra)


def _text(description: str, pattern: str, longest: int | None = None, **extra: object) -> Meta:
    return Meta(pattern=pattern, max_length=longest, description=description, extra=extra)


class Listen(Struct, frozen=True, forbid_unknown_fields=True):
    """Where controllers reach the agent."""

    address: (
        Annotated[
            str,
            _text(
                "IP address on which controllers reach the agent; anything but a loopback address "
                "needs [tls].",
                r"^[0-9A-Fa-f:.]+$",
                longest=45,
                kind="an IP address",
                absent="no TCP, the UNIX socket alone",
                example="127.0.0.1",
            ),
        ]
        | None
    ) = None
    port: Annotated[
        int, _number("TCP port for controllers; 0 takes a free one and logs it.", 0, 65535)
    ] = 9797
    socket: Annotated[
        str,
        _path(
            "UNIX socket for administration on this host, created with mode 0660.",
            longest=107,
            kind="an absolute path of at most 107 characters",
        ),
    ] = "/run/foresight/agent.sock"
    socket_group: (
        Annotated[
            str,
            _text(
                "Group whose members may use the UNIX socket.",
                r"^[a-z_][a-z0-9_-]{0,31}$",
                kind="the name of a group",
                absent="the agent's own group",
                example="foresight",
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
                "Certificate of the private authority that signs the controllers' certificates.",
                absent="no TLS",
                example="/etc/foresight/ca.pem",
            ),
        ]
        | None
    ) = None
    certificate: (
        Annotated[
            str,
            _path(
                "Certificate of this agent.", absent="no TLS", example="/etc/foresight/agent.pem"
            ),
        ]
        | None
    ) = None
    key: (
        Annotated[
            str,
            _path(
                "Private key of this agent, readable by its owner alone.",
                absent="no TLS",
                example="/etc/foresight/agent.key",
            ),
        ]
        | None
    ) = None
    allowed: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")], ...],
        Meta(
            max_length=64,
            description="Names of the controllers that may send commands, as in their "
            "certificates.",
            extra={"kind": "a list of at most 64 names"},
        ),
    ] = ("controller",)


class FrequencyRules(Struct, frozen=True, forbid_unknown_fields=True):
    """What controllers may do to the CPU frequency."""

    actuation: Annotated[
        Literal["cap", "userspace"],
        Meta(
            description="How the frequency is lowered: cap limits it and leaves the governor "
            "alone, userspace switches to the userspace governor and sets the speed."
        ),
    ] = "cap"
    floor_khz: (
        Annotated[
            int,
            _number(
                "Lowest frequency that a controller may cap the CPUs at.",
                10_000,
                10_000_000,
                "kHz",
                absent="the hardware minimum",
                example=1_200_000,
            ),
        ]
        | None
    ) = None
    min_dwell_ms: Annotated[
        int, _number("Shortest time between two changes of the frequency.", 0, 60_000, "ms")
    ] = 200
    may_move_minimum: Annotated[
        bool,
        Meta(description="Whether controllers may set the lower limit (scaling_min_freq) as well."),
    ] = False


class EnergyRules(Struct, frozen=True, forbid_unknown_fields=True):
    """How the energy of the host is read."""

    meter: Annotated[
        Literal["auto", "powercap", "pyrapl", "modelled", "none"],
        Meta(description="Energy meter to use; auto takes the best one that works on this host."),
    ] = "auto"
    full_power_w: Annotated[
        float,
        _positive(
            "Power of the host under full load, from which the modelled meter estimates.",
            100_000,
            "W",
        ),
    ] = 100.0


class CallerLimits(Struct, frozen=True, forbid_unknown_fields=True):
    """Limits on what callers may cost the host."""

    requests_per_s: Annotated[
        float,
        _positive("Requests that one caller may send in the long run.", 10_000, "1/s"),
    ] = 20.0
    burst: Annotated[
        int, _number("Requests that one caller may send at once after a pause.", 1, 10_000)
    ] = 40
    max_connections: Annotated[
        int, _number("Connections that may be open at the same time.", 1, 1000)
    ] = 32
    timeout_s: Annotated[
        float,
        _number("Longest TLS handshake, and longest wait for a complete request.", 0.1, 60, "s"),
    ] = 5.0
    idle_timeout_s: Annotated[
        float, _number("Time after which an idle connection is closed.", 1, 3600, "s")
    ] = 75.0


class AgentFiles(Struct, frozen=True, forbid_unknown_fields=True):
    """Where the agent keeps its journal and its audit log."""

    state: Annotated[
        str, _path("Folder of the journal that keeps the original frequency limits.")
    ] = "/var/lib/foresight"
    audit: Annotated[
        str, _path("Audit log: every command, accepted or refused, one JSON line each.")
    ] = "/var/log/foresight/audit.jsonl"
    audit_max_mb: Annotated[
        int,
        _number("Size at which the audit log is rotated; one older file is kept.", 1, 10_000, "MB"),
    ] = 50


class ExecutorRules(Struct, frozen=True, forbid_unknown_fields=True):
    """Which Spark executors belong to this host."""

    hostname: (
        Annotated[
            str,
            _text(
                "Host name under which the executors of this host are registered with Spark; "
                "others are ignored.",
                r"^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$",
                kind="a host name or IP address",
                absent="all executors on this machine",
                example="127.0.0.2",
            ),
        ]
        | None
    ) = None


class Emulation(Struct, frozen=True, forbid_unknown_fields=True):
    """An emulated host in place of the real one, for machines without cpufreq or RAPL."""

    enabled: Annotated[bool, Meta(description="Whether the host is emulated.")] = False
    driver: Annotated[
        Literal["acpi-cpufreq", "intel_pstate", "intel_cpufreq", "amd-pstate-epp"],
        Meta(description="Frequency driver whose behaviour is emulated."),
    ] = "acpi-cpufreq"
    cpus: Annotated[
        int, _number("Number of emulated CPUs, each with a frequency policy of its own.", 1, 1024)
    ] = 2
    min_khz: Annotated[
        int, _number("Lowest frequency of the emulated CPUs.", 10_000, 10_000_000, "kHz")
    ] = 1_200_000
    max_khz: Annotated[
        int, _number("Highest frequency of the emulated CPUs.", 10_000, 10_000_000, "kHz")
    ] = 2_000_000
    share: Annotated[
        float,
        _number(
            "Share of a real core that one emulated CPU has at its highest frequency; less than 1 "
            "puts more emulated CPUs on a machine than it has cores and needs a throttle.",
            0.02,
            1,
        ),
    ] = 1.0
    free_cpu_s: Annotated[
        float,
        _number(
            "CPU time that a new executor may use before its share is enforced, so that it starts "
            "as fast as on a real host.",
            0,
            3600,
            "s",
        ),
    ] = 0.0
    throttle: Annotated[
        Literal["auto", "cgroup-v1", "cgroup-v2", "duty-cycle", "none"],
        Meta(description="How executors are slowed down to the emulated frequency."),
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


def load_agent_config(path: str | Path | None, overrides: Sequence[str] = ()) -> AgentConfig:
    """The configuration of a TOML file (None: all defaults), changed by `section.key=value`s.

    Raises `ConfigError`, one line, for anything unreadable, unknown, out of range or
    contradictory.
    """
    return read_strictly(AgentConfig, path, overrides, contradictions)


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
