"""Every option of the agent, declared once: key, type, default, unit, range, meaning.

Read by the same strict loader as the controller's configuration (`runtime.config`). What options
say together is checked in `contradictions` below. Who may write the file is checked by the daemon,
not here.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Literal

from msgspec import Meta

from mpc.options import (
    AbsolutePath,
    Contradiction,
    FrequencyKhz,
    Options,
    Port,
    SecondsInAnHour,
    option,
)
from runtime.config.strict import read_strictly

DEFAULT_PATH = Path("/etc/foresight/agent.toml")


class Listen(Options):
    """Where controllers reach the agent."""

    address: str | None = option(
        None,
        "IP address on which controllers reach the agent; anything but a loopback address needs "
        "[tls].",
        max_length=45,
        pattern=r"^[0-9A-Fa-f:.]+$",
        kind="an IP address",
        absent="no TCP, the UNIX socket alone",
        example="127.0.0.1",
    )
    port: Port = option(9797, "TCP port for controllers; 0 takes a free one and logs it.")
    socket: str = option(
        "/run/foresight/agent.sock",
        "UNIX socket for administration on this host, created with mode 0660.",
        max_length=107,
        pattern=r"^/[^\x00]*$",
        kind="an absolute path of at most 107 characters",
    )
    socket_group: str | None = option(
        None,
        "Group whose members may use the UNIX socket.",
        pattern=r"^[a-z_][a-z0-9_-]{0,31}$",
        kind="the name of a group",
        absent="the agent's own group",
        example="foresight",
    )


class Tls(Options):
    """Mutual TLS 1.3 for controllers: all of these, or none on loopback."""

    authority: AbsolutePath | None = option(
        None,
        "Certificate of the private authority that signs the controllers' certificates.",
        absent="no TLS",
        example="/etc/foresight/ca.pem",
    )
    certificate: AbsolutePath | None = option(
        None, "Certificate of this agent.", absent="no TLS", example="/etc/foresight/agent.pem"
    )
    key: AbsolutePath | None = option(
        None,
        "Private key of this agent, readable by its owner alone.",
        absent="no TLS",
        example="/etc/foresight/agent.key",
    )
    allowed: tuple[Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$")], ...] = (
        option(
            ("controller",),
            "Names of the controllers that may send commands, as in their certificates.",
            max_length=64,
            kind="a list of at most 64 names",
        )
    )


class FrequencyRules(Options):
    """What controllers may do to the CPU frequency."""

    actuation: Literal["cap", "userspace"] = option(
        "cap",
        "How the frequency is lowered: cap limits it and leaves the governor alone, userspace "
        "switches to the userspace governor and sets the speed.",
    )
    floor_khz: FrequencyKhz | None = option(
        None,
        "Lowest frequency that a controller may cap the CPUs at.",
        "kHz",
        absent="the hardware minimum",
        example=1_200_000,
    )
    min_dwell_ms: int = option(
        200, "Shortest time between two changes of the frequency.", "ms", ge=0, le=60_000
    )
    may_move_minimum: bool = option(
        False, "Whether controllers may set the lower limit (scaling_min_freq) as well."
    )


class EnergyRules(Options):
    """How the energy of the host is read."""

    meter: Literal["auto", "powercap", "pyrapl", "modelled", "none"] = option(
        "auto", "Energy meter to use; auto takes the best one that works on this host."
    )
    full_power_w: float = option(
        100.0,
        "Power of the host under full load, from which the modelled meter estimates.",
        "W",
        gt=0,
        le=100_000,
    )


class CallerLimits(Options):
    """Limits on what callers may cost the host."""

    requests_per_s: float = option(
        20.0, "Requests that one caller may send in the long run.", "1/s", gt=0, le=10_000
    )
    burst: int = option(
        40, "Requests that one caller may send at once after a pause.", ge=1, le=10_000
    )
    max_connections: int = option(
        32, "Connections that may be open at the same time.", ge=1, le=1000
    )
    timeout_s: float = option(
        5.0, "Longest TLS handshake, and longest wait for a complete request.", "s", ge=0.1, le=60
    )
    idle_timeout_s: float = option(
        75.0, "Time after which an idle connection is closed.", "s", ge=1, le=3600
    )


class AgentFiles(Options):
    """Where the agent keeps its journal and its audit log."""

    state: AbsolutePath = option(
        "/var/lib/foresight", "Folder of the journal that keeps the original frequency limits."
    )
    audit: AbsolutePath = option(
        "/var/log/foresight/audit.jsonl",
        "Audit log: every command, accepted or refused, one JSON line each.",
    )
    audit_max_mb: int = option(
        50, "Size at which the audit log is rotated; one older file is kept.", "MB", ge=1, le=10_000
    )


class ExecutorRules(Options):
    """Which Spark executors belong to this host."""

    hostname: str | None = option(
        None,
        "Host name under which the executors of this host are registered with Spark; others are "
        "ignored.",
        pattern=r"^[A-Za-z0-9][A-Za-z0-9.:_-]{0,252}$",
        kind="a host name or IP address",
        absent="all executors on this machine",
        example="127.0.0.2",
    )


class Emulation(Options):
    """An emulated host in place of the real one, for machines without cpufreq or RAPL."""

    enabled: bool = option(False, "Whether the host is emulated.")
    driver: Literal["acpi-cpufreq", "intel_pstate", "intel_cpufreq", "amd-pstate-epp"] = option(
        "acpi-cpufreq", "Frequency driver whose behaviour is emulated."
    )
    cpus: int = option(
        2, "Number of emulated CPUs, each with a frequency policy of its own.", ge=1, le=1024
    )
    min_khz: FrequencyKhz = option(1_200_000, "Lowest frequency of the emulated CPUs.", "kHz")
    max_khz: FrequencyKhz = option(2_000_000, "Highest frequency of the emulated CPUs.", "kHz")
    share: float = option(
        1.0,
        "Share of a real core that one emulated CPU has at its highest frequency; less than 1 "
        "puts more emulated CPUs on a machine than it has cores and needs a throttle.",
        ge=0.02,
        le=1,
    )
    free_cpu_s: SecondsInAnHour = option(
        0.0,
        "CPU time that a new executor may use before its share is enforced, so that it starts as "
        "fast as on a real host.",
    )
    throttle: Literal["auto", "cgroup-v1", "cgroup-v2", "duty-cycle", "none"] = option(
        "auto", "How executors are slowed down to the emulated frequency."
    )


class AgentConfig(Options):
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
