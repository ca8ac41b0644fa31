"""The objects of Kubernetes as far as our manifests use them, for a check without a cluster.

Field names and required fields after the API reference of Kubernetes v1.31 (core/v1, apps/v1,
rbac.authorization.k8s.io/v1). A schema is a mapping of fields to their schemas; "!" marks a
required field, a list holds the schema of its items, a type is that of a scalar, and None admits
any mapping of text to text.
"""

from collections.abc import Mapping, Sequence
from typing import Any

Schema = Any

LABELS: Schema = None
META: Schema = {"name!": str, "namespace": str, "labels": LABELS}
SELECTOR: Schema = {"matchLabels!": LABELS}
SECURITY: Schema = {
    "runAsUser": int,
    "runAsGroup": int,
    "runAsNonRoot": bool,
    "privileged": bool,
    "allowPrivilegeEscalation": bool,
    "readOnlyRootFilesystem": bool,
    "capabilities": {"drop": [str], "add": [str]},
}
POD_SECURITY: Schema = {
    "runAsUser": int,
    "runAsGroup": int,
    "fsGroup": int,
    "seccompProfile": {"type!": str},
}
MOUNT: Schema = {
    "name!": str,
    "mountPath!": str,
    "subPath": str,
    "subPathExpr": str,
    "readOnly": bool,
}
ENV: Schema = {
    "name!": str,
    "value": str,
    "valueFrom": {"fieldRef!": {"fieldPath!": str}},
}
PROBE: Schema = {
    "exec!": {"command!": [str]},
    "initialDelaySeconds": int,
    "periodSeconds": int,
    "timeoutSeconds": int,
    "failureThreshold": int,
}
CONTAINER: Schema = {
    "name!": str,
    "image": str,
    "command": [str],
    "args": [str],
    "env": [ENV],
    "ports": [{"name": str, "containerPort!": int, "hostPort": int}],
    "securityContext": SECURITY,
    "resources": {"requests": LABELS, "limits": LABELS},
    "livenessProbe": PROBE,
    "volumeMounts": [MOUNT],
}
VOLUME: Schema = {
    "name!": str,
    "hostPath": {"path!": str, "type": str},
    "emptyDir": {"medium": str, "sizeLimit": str},
    "configMap": {"name!": str, "defaultMode": int},
    "secret": {"secretName!": str, "defaultMode": int},
    "persistentVolumeClaim": {"claimName!": str},
}
POD_SPEC: Schema = {
    "serviceAccountName": str,
    "automountServiceAccountToken": bool,
    "enableServiceLinks": bool,
    "hostPID": bool,
    "hostNetwork": bool,
    "dnsPolicy": str,
    "terminationGracePeriodSeconds": int,
    "nodeSelector": LABELS,
    "securityContext": POD_SECURITY,
    "initContainers": [CONTAINER],
    "containers!": [CONTAINER],
    "volumes": [VOLUME],
    "tolerations": [{"key": str, "operator": str, "value": str, "effect": str}],
}
TEMPLATE: Schema = {"metadata!": {"labels!": LABELS}, "spec!": POD_SPEC}

OBJECTS: Mapping[tuple[str, str], Schema] = {
    ("v1", "Namespace"): {"metadata!": META},
    ("v1", "ServiceAccount"): {"metadata!": META, "automountServiceAccountToken": bool},
    ("v1", "ConfigMap"): {"metadata!": META, "data": LABELS},
    ("v1", "Pod"): {"metadata": META, "spec!": POD_SPEC},
    ("v1", "Service"): {
        "metadata!": META,
        "spec!": {
            "clusterIP": str,
            "selector": LABELS,
            "ports": [{"name": str, "port!": int}],
        },
    },
    ("apps/v1", "DaemonSet"): {
        "metadata!": META,
        "spec!": {
            "selector!": SELECTOR,
            "updateStrategy": {"type": str, "rollingUpdate": {"maxUnavailable": int}},
            "template!": TEMPLATE,
        },
    },
    ("apps/v1", "Deployment"): {
        "metadata!": META,
        "spec!": {
            "replicas": int,
            "strategy": {"type": str},
            "selector!": SELECTOR,
            "template!": TEMPLATE,
        },
    },
    ("rbac.authorization.k8s.io/v1", "Role"): {
        "metadata!": META,
        "rules": [{"apiGroups": [str], "resources": [str], "verbs!": [str]}],
    },
    ("rbac.authorization.k8s.io/v1", "RoleBinding"): {
        "metadata!": META,
        "roleRef!": {"apiGroup!": str, "kind!": str, "name!": str},
        "subjects": [{"kind!": str, "name!": str, "namespace": str}],
    },
}


def mistakes(document: Mapping[str, Any]) -> list[str]:
    """Unknown, missing and mistyped fields of an object, by their path; none for a good one."""
    kind = (document["apiVersion"], document["kind"])
    if kind not in OBJECTS:
        return [f"no such object: {kind}"]
    schema = {"apiVersion!": str, "kind!": str, **OBJECTS[kind]}
    return list(_mistakes(document, schema, kind[1]))


def _mistakes(value: Any, schema: Schema, path: str) -> list[str]:
    if schema is None:
        good = isinstance(value, Mapping) and all(
            isinstance(key, str) and isinstance(text, str) for key, text in value.items()
        )
        return [] if good else [f"{path}: not a mapping of text to text"]
    if isinstance(schema, list):
        if not isinstance(value, Sequence) or isinstance(value, str):
            return [f"{path}: not a list"]
        return [
            mistake
            for number, item in enumerate(value)
            for mistake in _mistakes(item, schema[0], f"{path}[{number}]")
        ]
    if isinstance(schema, dict):
        if not isinstance(value, Mapping):
            return [f"{path}: not a mapping"]
        known = {name.removesuffix("!"): inner for name, inner in schema.items()}
        needed = {name[:-1] for name in schema if name.endswith("!")}
        found = [f"{path}.{name}: unknown" for name in value.keys() - known.keys()]
        found += [f"{path}.{name}: missing" for name in needed - value.keys()]
        for name in value.keys() & known.keys():
            found += _mistakes(value[name], known[name], f"{path}.{name}")
        return found
    # A boolean is an int for Python, not for Kubernetes.
    return [] if type(value) is schema else [f"{path}: not {schema.__name__}"]
