"""What an operator says about a Kubernetes cluster; the manifests are rendered from it.

Declared like every other configuration: unknown keys and values out of range are refused with one
line. Names follow the rules of Kubernetes, so that what is rendered is never refused for them.
"""

from collections.abc import Iterator, Sequence
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated

from msgspec import Meta, Struct

from runtime.agent.service.settings import EnergyRules, FrequencyRules
from runtime.config.strict import ConfigError, Contradiction, read_strictly

_LABEL = r"[a-z0-9](?:[-a-z0-9]{0,61}[a-z0-9])?"
_KEY = r"(?:[a-z0-9.-]+/)?[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?"
_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9._-]{0,61}[A-Za-z0-9])?)?"
_EFFECT = r"(?:NoSchedule|PreferNoSchedule|NoExecute)"
_IMAGE = r"^[a-z0-9][A-Za-z0-9._:/@-]{0,254}$"

Name = Annotated[str, Meta(pattern=rf"^{_LABEL}$")]
NodeLabel = Annotated[str, Meta(pattern=rf"^{_KEY}={_VALUE}$")]
Toleration = Annotated[str, Meta(pattern=rf"^{_KEY}(?:={_VALUE})?(?::{_EFFECT})?$")]
Text = Annotated[str, Meta(max_length=4096)]


class AgentValues(Struct, frozen=True, forbid_unknown_fields=True):
    """The agents, one on every worker node."""

    port: Annotated[
        int, Meta(ge=1, le=65535, description="Port of the node that controllers call.")
    ] = 9797
    secret: Annotated[
        Name,
        Meta(
            description="Secret with ca.pem, and NODE.pem and NODE.key for every node.",
            extra={"kind": "the name of a Secret"},
        ),
    ] = "foresight-agents"
    allowed: Annotated[
        tuple[Name, ...],
        Meta(
            min_length=1,
            max_length=64,
            description="Names of the controllers that may command, as in their certificates.",
            extra={"kind": "a list of 1 to 64 names"},
        ),
    ] = ("controller",)
    node_labels: Annotated[
        tuple[NodeLabel, ...],
        Meta(
            max_length=32,
            description="Labels of the nodes that get an agent; without any, all Linux nodes.",
            extra={"kind": "a list of at most 32 texts KEY=VALUE"},
        ),
    ] = ()
    tolerations: Annotated[
        tuple[Toleration, ...],
        Meta(
            max_length=32,
            description="Taints to tolerate, as kubectl writes them.",
            extra={"kind": "a list of at most 32 texts KEY[=VALUE][:EFFECT]"},
        ),
    ] = ()


class DriverValues(Struct, frozen=True, forbid_unknown_fields=True):
    """One streaming application with the controller in its driver."""

    name: Annotated[
        str,
        Meta(
            # The name of a pod of the Deployment is this and 17 characters more.
            pattern=r"^[a-z](?:[-a-z0-9]{0,38}[a-z0-9])?$",
            description="Name of the application.",
            extra={"kind": "a lower-case name of at most 40 characters"},
        ),
    ] = "streaming"
    application: Annotated[
        str,
        Meta(
            pattern=r"^/[^\x00]*\.py$",
            max_length=1024,
            description="The PySpark script, in the image.",
            extra={"kind": "an absolute path of a .py file"},
        ),
    ] = "/opt/application/app.py"
    arguments: Annotated[
        tuple[Text, ...],
        Meta(
            max_length=256,
            description="Arguments of the application.",
            extra={"kind": "a list of at most 256 texts"},
        ),
    ] = ()
    config: (
        Annotated[
            str,
            Meta(
                min_length=1,
                max_length=1024,
                description="The controller's foresight.toml, beside the file with the values.",
                extra={"kind": "a path", "absent": "defaults", "example": "foresight.toml"},
            ),
        ]
        | None
    ) = None
    nodes: Annotated[
        tuple[str, ...],
        Meta(
            max_length=1000,
            description="Addresses of the nodes that have agents; without any, frequencies stay.",
            extra={"kind": "a list of at most 1000 IP addresses"},
        ),
    ] = ()
    secret: Annotated[
        Name,
        Meta(
            description="Secret with ca.pem, controller.pem and controller.key.",
            extra={"kind": "the name of a Secret"},
        ),
    ] = "foresight-controller"
    claim: (
        Annotated[
            str,
            Meta(
                pattern=rf"^{_LABEL}$",
                description="PersistentVolumeClaim of the journal, at /var/lib/foresight.",
                extra={
                    "kind": "the name of a PersistentVolumeClaim",
                    "absent": "the journal goes with the pod",
                    "example": "streaming-journal",
                },
            ),
        ]
        | None
    ) = None
    user: Annotated[
        int, Meta(ge=1, le=2**31 - 1, description="User of the driver; Spark's images have 185.")
    ] = 185
    executor_cores: Annotated[
        int, Meta(ge=1, le=1024, description="Cores of an executor.", extra={"unit": "cores"})
    ] = 1
    executor_memory_mb: Annotated[
        int, Meta(ge=512, le=1_000_000, description="Heap of an executor.", extra={"unit": "MB"})
    ] = 1024
    driver_memory_mb: Annotated[
        int, Meta(ge=512, le=1_000_000, description="Heap of the driver.", extra={"unit": "MB"})
    ] = 1024
    conf: Annotated[
        tuple[Annotated[str, Meta(pattern=r"^spark\.[^=\s]+=.*$", max_length=4096)], ...],
        Meta(
            max_length=256,
            description="Further options of Spark.",
            extra={"kind": "a list of at most 256 texts spark.KEY=VALUE"},
        ),
    ] = ()


class Values(Struct, frozen=True, forbid_unknown_fields=True):
    """Everything the manifests need."""

    image: (
        Annotated[
            str,
            Meta(
                pattern=_IMAGE,
                description="Image with Foresight, and for a driver with Spark.",
                extra={
                    "kind": "the name of an image",
                    "absent": "refused",
                    "example": "registry.example.org/foresight:0.1.0",
                },
            ),
        ]
        | None
    ) = None
    namespace: Annotated[
        Name,
        Meta(description="Namespace of everything.", extra={"kind": "a lower-case name"}),
    ] = "foresight"
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
