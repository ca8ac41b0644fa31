"""What an operator says about a Kubernetes cluster; the manifests are rendered from it.

Declared like every other configuration: unknown keys and values out of range are refused with one
line. Names follow the rules of Kubernetes, so that what is rendered is never refused for them.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from msgspec import Meta

from mpc.options import AnyPath, Contradiction, Options, option
from runtime.agent.service.settings import EnergyRules, FrequencyRules
from runtime.config.strict import ConfigError, read_strictly

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_KEY = r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
_EFFECT = r"(?:NoSchedule|PreferNoSchedule|NoExecute)"
_IMAGE = r"^[a-z0-9][A-Za-z0-9._:/@-]{0,254}$"

Name = Annotated[str, Meta(pattern=rf"^{_LABEL}$")]
NodeLabel = Annotated[str, Meta(pattern=rf"^{_KEY}={_VALUE}$")]
Toleration = Annotated[str, Meta(pattern=rf"^{_KEY}(?:={_VALUE})?(?::{_EFFECT})?$")]
Text = Annotated[str, Meta(max_length=4096)]


class AgentValues(Options):
    """The agents, one on every worker node."""

    port: int = option(9797, "Port of the node that controllers call.", ge=1, le=65535)
    secret: Name = option(
        "foresight-agents",
        "Secret with ca.pem, and NODE.pem and NODE.key for every node.",
        kind="the name of a Secret",
    )
    allowed: tuple[Name, ...] = option(
        ("controller",),
        "Names of the controllers that may command, as in their certificates.",
        min_length=1,
        max_length=64,
        kind="a list of 1 to 64 names",
    )
    node_labels: tuple[NodeLabel, ...] = option(
        (),
        "Labels of the nodes that get an agent; without any, all Linux nodes.",
        max_length=32,
        kind="a list of at most 32 texts KEY=VALUE",
    )
    tolerations: tuple[Toleration, ...] = option(
        (),
        "Taints to tolerate, as kubectl writes them.",
        max_length=32,
        kind="a list of at most 32 texts KEY[=VALUE][:EFFECT]",
    )


class DriverValues(Options):
    """One streaming application with the controller in its driver."""

    # The name of a pod of the Deployment is this and 17 characters more.
    name: str = option(
        "streaming",
        "Name of the application.",
        pattern=r"^[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?$",
        kind="a lower-case name of at most 40 characters",
    )
    application: str = option(
        "/opt/application/app.py",
        "The PySpark script, in the image.",
        max_length=1024,
        pattern=r"^/[^\x00]*\.py$",
        kind="an absolute path of a .py file",
    )
    arguments: tuple[Text, ...] = option(
        (), "Arguments of the application.", max_length=256, kind="a list of at most 256 texts"
    )
    config: AnyPath | None = option(
        None,
        "The controller's foresight.toml, beside the file with the values.",
        absent="defaults",
        example="foresight.toml",
    )
    nodes: tuple[str, ...] = option(
        (),
        "Addresses of the nodes that have agents; without any, frequencies stay.",
        max_length=1000,
        kind="a list of at most 1000 IP addresses",
    )
    secret: Name = option(
        "foresight-controller",
        "Secret with ca.pem, controller.pem and controller.key.",
        kind="the name of a Secret",
    )
    claim: str | None = option(
        None,
        "PersistentVolumeClaim of the journal, at /var/lib/foresight.",
        pattern=rf"^{_LABEL}$",
        kind="the name of a PersistentVolumeClaim",
        absent="the journal goes with the pod",
        example="streaming-journal",
    )
    user: int = option(185, "User of the driver; Spark's images have 185.", ge=1, le=2**31 - 1)
    executor_cores: int = option(1, "Cores of an executor.", "cores", ge=1, le=1024)
    executor_memory_mb: int = option(1024, "Heap of an executor.", "MB", ge=512, le=1_000_000)
    driver_memory_mb: int = option(1024, "Heap of the driver.", "MB", ge=512, le=1_000_000)
    conf: tuple[Annotated[str, Meta(pattern=r"^spark\.[^=\s]+=.*$", max_length=4096)], ...] = (
        option(
            (),
            "Further options of Spark.",
            max_length=256,
            kind="a list of at most 256 texts spark.KEY=VALUE",
        )
    )


class Values(Options):
    """Everything the manifests need."""

    image: str | None = option(
        None,
        "Image with Foresight, and for a driver with Spark.",
        pattern=_IMAGE,
        kind="the name of an image",
        absent="refused",
        example="registry.example.org/foresight:0.1.0",
    )
    namespace: Name = option("foresight", "Namespace of everything.", kind="a lower-case name")
    agent: AgentValues = AgentValues()
    frequency: FrequencyRules = FrequencyRules()
    energy: EnergyRules = EnergyRules()
    driver: DriverValues = DriverValues()


def load_values(path: Path, overrides: Sequence[str] = ()) -> tuple[str, Values]:
    """The image and the values of a TOML file, changed by `section.key=value`s.

    Raises `ConfigError`, one line, for anything that cannot be used.
    """
    values = read_strictly(Values, path, overrides, _contradictions)
    if values.image is None:
        raise ConfigError(str(path), "image", "must be given: there is none to fall back on")
    return values.image, values


def _contradictions(values: Values) -> Iterator[Contradiction]:
    for address in values.driver.nodes:
        try:
            ip_address(address)
        except ValueError:
            yield ((("driver", "nodes"), f"must be IP addresses, which {address!r} is not"),)
    if len(set(values.driver.nodes)) != len(values.driver.nodes):
        yield ((("driver", "nodes"), "must name every node once"),)
