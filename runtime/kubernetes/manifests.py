"""The manifests of agents and of a driver: YAML in `templates/`, filled from the values.

The templates are YAML as Kubernetes reads it, with placeholders; why something stands in them is
said there. Nothing is applied, only rendered.
"""

from importlib.resources import files
from pathlib import Path

import msgspec

from runtime.config import load_config
from runtime.config.toml_text import toml_document, toml_text
from runtime.kubernetes.values import Values
from runtime.yaml_text import Fillings, Value, filled_documents, yaml_documents

_AGENT = "foresight-agent"
_NAME_LABEL = "app.kubernetes.io/name"
_OVERHEAD = 1.4
"""Memory of the driver's pod over its heap: the JVM's own, and Python."""


def agent_manifests(image: str, values: Values) -> list[dict[str, Value]]:
    """Namespace, account, configuration and DaemonSet (core/v1, apps/v1)."""
    agent = values.agent
    labels: dict[str, Value] = {_NAME_LABEL: _AGENT}
    chosen = (label.partition("=") for label in agent.node_labels)
    return _manifests(
        "agent",
        {
            "image": image,
            "name": _AGENT,
            "namespace": values.namespace,
            "labels": labels,
            "metadata": {"name": _AGENT, "namespace": values.namespace, "labels": labels},
            "agent_toml": agent_toml(values),
            "port": agent.port,
            "secret": agent.secret,
            "node_selector": {
                "kubernetes.io/os": "linux",
                **{key: value for key, _, value in chosen},
            },
            "tolerations": [_toleration(text) for text in agent.tolerations] or None,
        },
    )


def agent_toml(values: Values) -> str:
    """The configuration of every agent."""
    return toml_document(
        {
            # The pod's own addresses; the node's port leads there.
            "listen": {"address": "0.0.0.0", "port": values.agent.port},
            "tls": {
                "authority": "/etc/foresight/ca.pem",
                "certificate": "/etc/foresight/agent.pem",
                "key": "/etc/foresight/agent.key",
                "allowed": values.agent.allowed,
            },
            "frequency": msgspec.to_builtins(values.frequency),
            "energy": msgspec.to_builtins(values.energy),
        }
    )


def driver_manifests(image: str, values: Values, folder: Path) -> list[dict[str, Value]]:
    """Account, rights, configuration, service and Deployment (core/v1, apps/v1,
    rbac.authorization.k8s.io/v1). `folder` is where `driver.config` is looked for."""
    driver = values.driver
    path = None if driver.config is None else folder / driver.config
    config = load_config(path, overrides(values))
    name_label: dict[str, Value] = {_NAME_LABEL: driver.name}
    with_agents = bool(driver.nodes) or None
    network = {
        "host_network": with_agents,
        "dns_policy": "ClusterFirstWithHostNet" if with_agents else None,
    }
    return _manifests(
        "driver",
        {
            **msgspec.structs.asdict(driver),
            "image": image,
            "namespace": values.namespace,
            "labels": {**name_label, "app.kubernetes.io/component": "driver"},
            "metadata": {
                "name": driver.name,
                "namespace": values.namespace,
                "labels": name_label,
            },
            "foresight_toml": "" if path is None else path.read_text(encoding="utf-8"),
            "executor_yaml": yaml_documents(_manifests("executor", network)),
            "agents": with_agents,
            "no_claim": driver.claim is None or None,
            "overrides": [word for each in overrides(values) for word in ("--set", each)],
            "conf": [word for each in driver.conf for word in ("--conf", _literal(each))],
            "arguments": [_literal(argument) for argument in driver.arguments],
            "min_executors": config.executors.min,
            "pod_memory_mb": round(driver.driver_memory_mb * _OVERHEAD),
        },
    )


def overrides(values: Values) -> list[str]:
    """What the pod decides, whatever the configuration says."""
    driver = values.driver
    decided: dict[str, object] = {
        "journal.folder": "/var/lib/foresight/journal",
        # The archive is a file of one host, and every pod is another.
        "spark.class_archive": False,
    }
    if driver.nodes:
        port = values.agent.port
        decided |= {
            "agents.urls": [f"{node}=https://{_host(node)}:{port}" for node in driver.nodes],
            "agents.authority": "/etc/foresight-tls/ca.pem",
            "agents.certificate": "/etc/foresight-tls/controller.pem",
            "agents.key": "/etc/foresight-tls/controller.key",
        }
    return [f"{key}={toml_text(value)}" for key, value in decided.items()]


def _manifests(name: str, fillings: Fillings) -> list[dict[str, Value]]:
    text = (files("runtime.kubernetes") / "templates" / f"{name}.yaml").read_text(encoding="utf-8")
    return filled_documents(text, fillings)


def _toleration(text: str) -> dict[str, Value]:
    """`KEY[=VALUE][:EFFECT]`."""
    taint, colon, effect = text.partition(":")
    key, equals, value = taint.partition("=")
    toleration: dict[str, Value] = {"key": key, "operator": "Equal" if equals else "Exists"}
    if equals:
        toleration["value"] = value
    if colon:
        toleration["effect"] = effect
    return toleration


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _literal(text: str) -> str:
    """Kubernetes would put a variable in place of $(NAME)."""
    return text.replace("$(", "$$(")
