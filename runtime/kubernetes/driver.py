"""One streaming application on Kubernetes with the controller inside its driver.

The driver is a Deployment of one pod in Spark's client mode: `foresight submit` runs the
application in it and makes the executor pods. With agents, executors use the network of their node,
so that Spark knows them by the address under which the node's agent is known.
"""

from pathlib import Path

from runtime.config import Config, load_config
from runtime.config.toml_text import toml_text
from runtime.kubernetes.values import DriverValues, Values
from runtime.kubernetes.yaml_text import Value, yaml_documents

_CONFIG_FOLDER = "/etc/foresight"
_TLS_FOLDER = "/etc/foresight-tls"
_SECRET_FOLDER = "/run/foresight-secret"
_STATE_FOLDER = "/var/lib/foresight"
_TLS_FILES = ("ca.pem", "controller.pem", "controller.key")
_DRIVER_PORT = 7078
_BLOCK_PORT = 7079
_OVERHEAD = 1.4
"""Memory of the driver's pod over its heap: the JVM's own, and Python."""
_RESTRICTED: dict[str, Value] = {
    "allowPrivilegeEscalation": False,
    "readOnlyRootFilesystem": True,
    "capabilities": {"drop": ["ALL"]},
}


def driver_manifests(image: str, values: Values, folder: Path) -> list[dict[str, Value]]:
    """Account, rights, configuration, service and Deployment (core/v1, apps/v1,
    rbac.authorization.k8s.io/v1). `folder` is where `driver.config` is looked for."""
    driver = values.driver
    path = None if driver.config is None else folder / driver.config
    config = load_config(path, overrides(values))
    text = "" if path is None else path.read_text(encoding="utf-8")
    metadata = _metadata(values)
    labels = _labels(driver)
    return [
        {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": metadata},
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "Role",
            "metadata": metadata,
            "rules": _rules(),
        },
        {
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "Role",
                "name": driver.name,
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": driver.name, "namespace": values.namespace}
            ],
        },
        {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            "metadata": metadata,
            "data": {"foresight.toml": text, "executor.yaml": yaml_documents([_executor(driver)])},
        },
        {
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": metadata,
            # Without an address of its own: executors talk to the pod.
            "spec": {
                "clusterIP": "None",
                "selector": labels,
                "ports": [
                    {"name": "driver", "port": _DRIVER_PORT},
                    {"name": "blocks", "port": _BLOCK_PORT},
                ],
            },
        },
        {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "metadata": metadata,
            "spec": {
                "replicas": 1,
                # Never two drivers of one application.
                "strategy": {"type": "Recreate"},
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": _pod(image, values, config),
                },
            },
        },
    ]


def overrides(values: Values) -> list[str]:
    """What the pod decides, whatever the configuration says."""
    driver = values.driver
    decided: dict[str, object] = {
        "journal.folder": f"{_STATE_FOLDER}/journal",
        # The archive is a file of one host, and every pod is another.
        "spark.class_archive": False,
    }
    if driver.nodes:
        port = values.agent.port
        decided["agents.urls"] = [f"{node}=https://{_host(node)}:{port}" for node in driver.nodes]
        for key, name in zip(("authority", "certificate", "key"), _TLS_FILES, strict=True):
            decided[f"agents.{key}"] = f"{_TLS_FOLDER}/{name}"
    return [f"{key}={toml_text(value)}" for key, value in decided.items()]


def submit_arguments(image: str, values: Values, config: Config) -> list[str]:
    """What follows `foresight`; $(POD_NAME) is put in by Kubernetes."""
    driver = values.driver
    conf = {
        "spark.kubernetes.namespace": values.namespace,
        "spark.kubernetes.container.image": image,
        "spark.kubernetes.driver.pod.name": "$(POD_NAME)",
        "spark.kubernetes.executor.podTemplateFile": f"{_CONFIG_FOLDER}/executor.yaml",
        "spark.driver.host": f"{driver.name}.{values.namespace}.svc",
        "spark.driver.bindAddress": "0.0.0.0",
        "spark.driver.port": str(_DRIVER_PORT),
        "spark.driver.blockManager.port": str(_BLOCK_PORT),
        "spark.driver.memory": f"{driver.driver_memory_mb}m",
        "spark.executor.instances": str(config.executors.min),
        "spark.executor.cores": str(driver.executor_cores),
        "spark.executor.memory": f"{driver.executor_memory_mb}m",
        "spark.local.dir": "/tmp",
    }
    options = [f"{key}={value}" for key, value in conf.items()]
    return [
        *("submit", "--config", f"{_CONFIG_FOLDER}/foresight.toml"),
        *(word for override in overrides(values) for word in ("--set", override)),
        *("--master", "k8s://https://kubernetes.default.svc"),
        *(word for option in options for word in ("--conf", option)),
        *(word for option in driver.conf for word in ("--conf", _literal(option))),
        driver.application,
        *(_literal(argument) for argument in driver.arguments),
    ]


def _labels(driver: DriverValues) -> dict[str, Value]:
    return {"app.kubernetes.io/name": driver.name, "app.kubernetes.io/component": "driver"}


def _metadata(values: Values) -> dict[str, Value]:
    labels: dict[str, Value] = {"app.kubernetes.io/name": values.driver.name}
    return {"name": values.driver.name, "namespace": values.namespace, "labels": labels}


def _rules() -> list[Value]:
    """What Spark's scheduler does in its namespace."""
    verbs: list[Value] = ["create", "get", "list", "watch", "update", "patch", "delete"]
    resources: list[Value] = ["pods", "configmaps", "services", "persistentvolumeclaims"]
    return [{"apiGroups": [""], "resources": resources, "verbs": [*verbs, "deletecollection"]}]


def _executor(driver: DriverValues) -> dict[str, Value]:
    """The template of an executor's pod; Spark adds image, command and resources."""
    spec: dict[str, Value] = {
        "automountServiceAccountToken": False,
        "securityContext": {"seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [
            {
                "name": "executor",
                "securityContext": {
                    "allowPrivilegeEscalation": False,
                    "capabilities": {"drop": ["ALL"]},
                },
            }
        ],
    }
    if driver.nodes:
        spec = {"hostNetwork": True, "dnsPolicy": "ClusterFirstWithHostNet", **spec}
    return {"apiVersion": "v1", "kind": "Pod", "spec": spec}


def _pod(image: str, values: Values, config: Config) -> dict[str, Value]:
    driver = values.driver
    memory_mb = round(driver.driver_memory_mb * _OVERHEAD)
    mounts: list[Value] = [
        {"name": "config", "mountPath": _CONFIG_FOLDER, "readOnly": True},
        {"name": "state", "mountPath": _STATE_FOLDER},
        {"name": "tmp", "mountPath": "/tmp"},
    ]
    claimed: dict[str, Value] = {"persistentVolumeClaim": {"claimName": driver.claim or ""}}
    volumes: list[Value] = [
        {"name": "config", "configMap": {"name": driver.name, "defaultMode": 0o444}},
        {"name": "state", **(claimed if driver.claim else {"emptyDir": {}})},
        {"name": "tmp", "emptyDir": {}},
    ]
    if driver.nodes:
        mounts.append({"name": "tls", "mountPath": _TLS_FOLDER, "readOnly": True})
        volumes += [
            {"name": "tls", "emptyDir": {"medium": "Memory", "sizeLimit": "1Mi"}},
            {"name": "secret", "secret": {"secretName": driver.secret, "defaultMode": 0o400}},
        ]
    container: dict[str, Value] = {
        "name": "driver",
        "image": image,
        "command": ["foresight"],
        "args": list(submit_arguments(image, values, config)),
        "env": [
            {"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
            {"name": "HOME", "value": "/tmp"},
        ],
        "ports": [
            {"name": "driver", "containerPort": _DRIVER_PORT},
            {"name": "blocks", "containerPort": _BLOCK_PORT},
        ],
        "securityContext": _RESTRICTED,
        "resources": {
            "requests": {"cpu": "1", "memory": f"{memory_mb}Mi"},
            "limits": {"memory": f"{memory_mb}Mi"},
        },
        "volumeMounts": mounts,
    }
    pod: dict[str, Value] = {
        "serviceAccountName": driver.name,
        "enableServiceLinks": False,
        # A driver that is told to end stops its query and lets the nodes go.
        "terminationGracePeriodSeconds": 60,
        "securityContext": {
            "runAsUser": driver.user,
            "runAsGroup": driver.user,
            "fsGroup": driver.user,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
    }
    if driver.nodes:
        pod["initContainers"] = [_key_owner(image, driver.user)]
    return {**pod, "containers": [container], "volumes": volumes}


def _key_owner(image: str, user: int) -> dict[str, Value]:
    """Gives the driver's user the key: a Secret belongs to root, and with a group that may read it
    the key would not be private."""
    copy = f"chmod 0755 {_TLS_FOLDER} && cp {_SECRET_FOLDER}/* {_TLS_FOLDER}/"
    own = f"chmod 0600 {_TLS_FOLDER}/* && chown {user} {_TLS_FOLDER}/*"
    return {
        "name": "key",
        "image": image,
        "command": ["sh", "-c", f"{copy} && {own}"],
        "securityContext": {
            **_RESTRICTED,
            "runAsUser": 0,
            "capabilities": {"drop": ["ALL"], "add": ["CHOWN"]},
        },
        "volumeMounts": [
            {"name": "secret", "mountPath": _SECRET_FOLDER, "readOnly": True},
            {"name": "tls", "mountPath": _TLS_FOLDER},
        ],
    }


def _host(address: str) -> str:
    return f"[{address}]" if ":" in address else address


def _literal(text: str) -> str:
    """Kubernetes would put a variable in place of $(NAME)."""
    return text.replace("$(", "$$(")
