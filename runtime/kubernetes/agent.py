"""The agent of every worker node as a DaemonSet, and all that belongs to it.

What the pod may do is what the systemd unit allows: root without any capability, a read-only file
system but for the frequency limits, the processes of the node to be seen. It is not privileged:
files of sysfs belong to root, and their owner needs no capability to write them.
"""

import msgspec

from runtime.config.toml_text import toml_document
from runtime.kubernetes.values import AgentValues, Values
from runtime.kubernetes.yaml_text import Value

HOST = "/host"
"""The node's sysfs lies below it, not over the container's own: runtimes mask powercap in /sys
after mounting, and AppArmor's default profile forbids writing there."""
_CONFIG_FOLDER = "/etc/foresight"
_KEPT = (
    ("state", "/var/lib/foresight"),
    ("log", "/var/log/foresight"),
    ("run", "/run/foresight"),
)
_BOOT_ID = "/proc/sys/kernel/random/boot_id"
_NAME = "foresight-agent"
_LABELS: dict[str, Value] = {"app.kubernetes.io/name": _NAME}

_WRITTEN = "/sys/devices/system/cpu/cpufreq"
_READ = (
    ("cpu", "/sys/devices/system/cpu"),
    # powercap and thermal, which are links to the devices, and which some nodes do not have.
    ("class", "/sys/class"),
    ("devices", "/sys/devices/virtual"),
)


def agent_manifests(image: str, values: Values) -> list[dict[str, Value]]:
    """Namespace, account, configuration and DaemonSet (core/v1, apps/v1)."""
    return [
        {
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {
                "name": values.namespace,
                # Folders and processes of the node are beyond the levels baseline and restricted.
                "labels": {"pod-security.kubernetes.io/enforce": "privileged"},
            },
        },
        {
            "apiVersion": "v1",
            "kind": "ServiceAccount",
            "metadata": _metadata(values),
            "automountServiceAccountToken": False,
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": _metadata(values),
            "data": {"agent.toml": agent_toml(values)},
        },
        {
            "apiVersion": "apps/v1",
            "kind": "DaemonSet",
            "metadata": _metadata(values),
            "spec": {
                "selector": {"matchLabels": _LABELS},
                "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1}},
                "template": {"metadata": {"labels": _LABELS}, "spec": _pod(image, values.agent)},
            },
        },
    ]


def agent_toml(values: Values) -> str:
    """The configuration of every agent."""
    return toml_document(
        {
            # The pod's own addresses; the node's port leads there.
            "listen": {"address": "0.0.0.0", "port": values.agent.port},
            "tls": {
                "authority": f"{_CONFIG_FOLDER}/ca.pem",
                "certificate": f"{_CONFIG_FOLDER}/agent.pem",
                "key": f"{_CONFIG_FOLDER}/agent.key",
                "allowed": values.agent.allowed,
            },
            "frequency": msgspec.to_builtins(values.frequency),
            "energy": msgspec.to_builtins(values.energy),
        }
    )


def _metadata(values: Values) -> dict[str, Value]:
    return {"name": _NAME, "namespace": values.namespace, "labels": _LABELS}


def _pod(image: str, agent: AgentValues) -> dict[str, Value]:
    selector: dict[str, Value] = {"kubernetes.io/os": "linux"}
    for label in agent.node_labels:
        key, _, value = label.partition("=")
        selector[key] = value
    pod: dict[str, Value] = {
        "serviceAccountName": _NAME,
        "automountServiceAccountToken": False,
        "enableServiceLinks": False,
        # To see the executors and their CPU time.
        "hostPID": True,
        # SIGTERM restores the node; the unit of systemd waits as long.
        "terminationGracePeriodSeconds": 30,
        "nodeSelector": selector,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [_container(image, agent)],
        "volumes": _volumes(agent),
    }
    if agent.tolerations:
        pod["tolerations"] = [_toleration(text) for text in agent.tolerations]
    return pod


def _container(image: str, agent: AgentValues) -> dict[str, Value]:
    config = f"{_CONFIG_FOLDER}/agent.toml"
    return {
        "name": "agent",
        "image": image,
        "command": ["foresight"],
        "args": ["agent", "run", "--config", config, "--root", HOST],
        "env": [
            {"name": "NODE_NAME", "valueFrom": {"fieldRef": {"fieldPath": "spec.nodeName"}}},
        ],
        # A port of the node without its network: nothing else of it is reached.
        "ports": [{"name": "agent", "containerPort": agent.port, "hostPort": agent.port}],
        "securityContext": {
            "runAsUser": 0,
            "runAsGroup": 0,
            "privileged": False,
            "allowPrivilegeEscalation": False,
            "readOnlyRootFilesystem": True,
            "capabilities": {"drop": ["ALL"]},
        },
        "resources": {
            "requests": {"cpu": "50m", "memory": "96Mi"},
            "limits": {"memory": "256Mi"},
        },
        # Over TCP a probe would need a certificate; the UNIX socket asks the kernel instead.
        "livenessProbe": {
            "exec": {"command": ["foresight", "agent", "status"]},
            "initialDelaySeconds": 15,
            "periodSeconds": 60,
            "timeoutSeconds": 15,
            "failureThreshold": 3,
        },
        "volumeMounts": _mounts(),
    }


def _mounts() -> list[Value]:
    mounts: list[Value] = [
        {"name": name, "mountPath": f"{HOST}{path}", "readOnly": True} for name, path in _READ
    ]
    mounts.append({"name": "cpufreq", "mountPath": f"{HOST}{_WRITTEN}"})
    mounts.append({"name": "boot-id", "mountPath": f"{HOST}{_BOOT_ID}", "readOnly": True})
    for name, path in _KEPT:
        mounts.append({"name": name, "mountPath": path})
    mounts.append(_file("config", "agent.toml", subPath="agent.toml"))
    mounts.append(_file("tls", "ca.pem", subPath="ca.pem"))
    # Every agent sees its own key alone, though one Secret holds those of all.
    mounts.append(_file("tls", "agent.pem", subPathExpr="$(NODE_NAME).pem"))
    mounts.append(_file("tls", "agent.key", subPathExpr="$(NODE_NAME).key"))
    return mounts


def _file(volume: str, name: str, **path: str) -> dict[str, Value]:
    mounted = {"name": volume, "mountPath": f"{_CONFIG_FOLDER}/{name}", **path}
    return {**mounted, "readOnly": True}


def _volumes(agent: AgentValues) -> list[Value]:
    read: list[Value] = [
        {"name": name, "hostPath": {"path": path, "type": "Directory"}} for name, path in _READ
    ]
    # On the node, for what must outlive the pod: the limits from before the first change. Folders
    # of an emptyDir are writable by everybody, which the agent refuses.
    kept: list[Value] = [
        {"name": name, "hostPath": {"path": path, "type": "DirectoryOrCreate"}}
        for name, path in _KEPT
    ]
    return [
        *read,
        {"name": "cpufreq", "hostPath": {"path": _WRITTEN, "type": "Directory"}},
        {"name": "boot-id", "hostPath": {"path": _BOOT_ID, "type": "File"}},
        *kept,
        {"name": "config", "configMap": {"name": _NAME, "defaultMode": 0o444}},
        {"name": "tls", "secret": {"secretName": agent.secret, "defaultMode": 0o400}},
    ]


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
