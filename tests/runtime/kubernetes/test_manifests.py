"""Manifests hold together and ask for no more than they need; they were never applied."""

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from kubernetes_validate import ValidationError, latest_version, validate

from runtime.agent.service.settings import load_agent_config
from runtime.config import load_config
from runtime.config.strict import ConfigError
from runtime.kubernetes.manifests import agent_manifests, agent_toml, driver_manifests, overrides
from runtime.kubernetes.values import load_values
from runtime.yaml_text import yaml_documents

VALUES = """
image = "registry.example.org/foresight:0.1.0"
[agent]
node_labels = ["spark=worker"]
tolerations = ["dedicated=spark:NoSchedule", "batch"]
[frequency]
floor_khz = 1400000
[driver]
nodes = ["10.0.0.11", "fd00::12"]
config = "controller.toml"
claim = "journal"
arguments = ["--path", "$(HOME)/in"]
conf = ["spark.kubernetes.node.selector.spark=worker"]
"""
OLDEST_VERSION = "1.28"
DNS_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?")

Document = Mapping[str, Any]


def values_file(folder: Path, text: str = VALUES) -> Path:
    (folder / "controller.toml").write_text("[executors]\nmin = 2\n")
    path = folder / "values.toml"
    path.write_text(text)
    return path


def rendered(folder: Path, text: str = VALUES) -> list[Document]:
    image, values = load_values(values_file(folder, text))
    return [*agent_manifests(image, values), *driver_manifests(image, values, folder)]


def only(documents: list[Document], kind: str) -> Document:
    (found,) = (document for document in documents if document["kind"] == kind)
    return found


@pytest.mark.parametrize("text", [VALUES, 'image = "foresight:1"\n'])
@pytest.mark.parametrize("version", [OLDEST_VERSION, latest_version()])
def test_every_object_is_one_of_the_published_schemas(
    tmp_path: Path, text: str, version: str
) -> None:
    written = yaml_documents(rendered(tmp_path, text))
    documents = list(yaml.safe_load_all(written))
    templates = [
        yaml.safe_load(document["data"]["executor.yaml"])
        for document in documents
        if "executor.yaml" in document.get("data", {})
    ]
    for document in [*documents, *templates]:
        validate(document, version, strict=True)  # unknown fields are mistakes, too
    for document in documents:
        assert DNS_LABEL.fullmatch(document["metadata"]["name"])
    assert templates


@pytest.mark.parametrize(
    "spec", [{"hostPid": True, "containers": []}, {}, {"containers": [], "hostNetwork": 1}]
)
def test_the_schemas_find_mistakes(spec: dict[str, object]) -> None:
    with pytest.raises(ValidationError):
        validate({"apiVersion": "v1", "kind": "Pod", "spec": spec}, OLDEST_VERSION, strict=True)


@pytest.mark.parametrize("kind", ["DaemonSet", "Deployment"])
def test_a_pod_holds_together(tmp_path: Path, kind: str) -> None:
    document = only(rendered(tmp_path), kind)
    selector = document["spec"]["selector"]["matchLabels"]
    template = document["spec"]["template"]
    assert selector.items() <= template["metadata"]["labels"].items()
    pod = template["spec"]
    volumes = {volume["name"]: volume for volume in pod["volumes"]}
    assert len(volumes) == len(pod["volumes"])
    assert all(len(volume) == 2 for volume in volumes.values())
    used = set()
    for container in (*pod.get("initContainers", ()), *pod["containers"]):
        paths = [mount["mountPath"] for mount in container["volumeMounts"]]
        assert len(set(paths)) == len(paths)
        used |= {mount["name"] for mount in container["volumeMounts"]}
    assert used == volumes.keys()


def test_every_container_is_confined(tmp_path: Path) -> None:
    for kind in ("DaemonSet", "Deployment"):
        pod = only(rendered(tmp_path), kind)["spec"]["template"]["spec"]
        assert pod["securityContext"]["seccompProfile"] == {"type": "RuntimeDefault"}
        assert "hostNetwork" not in pod
        for container in (*pod.get("initContainers", ()), *pod["containers"]):
            security = container["securityContext"]
            assert security["allowPrivilegeEscalation"] is False
            assert security["readOnlyRootFilesystem"] is True
            assert security["capabilities"]["drop"] == ["ALL"]
            assert set(security["capabilities"].get("add", ())) <= {"CHOWN"}
            assert not security.get("privileged", False)


def test_of_the_node_only_frequency_limits_and_its_own_folders_are_writable(
    tmp_path: Path,
) -> None:
    pod = only(rendered(tmp_path), "DaemonSet")["spec"]["template"]["spec"]
    folders = {
        volume["name"]: volume["hostPath"]["path"]
        for volume in pod["volumes"]
        if "hostPath" in volume
    }
    (container,) = pod["containers"]
    writable = {
        folders[mount["name"]]
        for mount in container["volumeMounts"]
        if mount["name"] in folders and not mount.get("readOnly", False)
    }
    assert writable == {
        "/sys/devices/system/cpu/cpufreq",
        "/var/lib/foresight",
        "/var/log/foresight",
        "/run/foresight",
    }


def test_the_nodes_sysfs_is_where_the_agent_looks(tmp_path: Path) -> None:
    pod = only(rendered(tmp_path), "DaemonSet")["spec"]["template"]["spec"]
    (container,) = pod["containers"]
    root = container["args"][container["args"].index("--root") + 1]
    folders = {v["name"]: v["hostPath"]["path"] for v in pod["volumes"] if "hostPath" in v}
    for mount in container["volumeMounts"]:
        path = folders.get(mount["name"], "")
        if path.startswith(("/sys", "/proc")):
            assert mount["mountPath"] == f"{root}{path}"


def test_the_agents_configuration_is_one(tmp_path: Path) -> None:
    _, values = load_values(values_file(tmp_path))
    path = tmp_path / "agent.toml"
    path.write_text(agent_toml(values))
    config = load_agent_config(path)
    assert config.has_tls
    assert config.frequency == values.frequency
    assert config.energy == values.energy
    mounted = {
        mount["mountPath"]
        for mount in only(rendered(tmp_path), "DaemonSet")["spec"]["template"]["spec"][
            "containers"
        ][0]["volumeMounts"]
    }
    assert {config.tls.authority, config.tls.certificate, config.tls.key} <= mounted
    assert str(Path(config.listen.socket).parent) in mounted
    assert config.files.state in mounted
    assert str(Path(config.files.audit).parent) in mounted


def test_the_controller_is_told_the_agents_by_the_addresses_of_their_nodes(tmp_path: Path) -> None:
    _, values = load_values(values_file(tmp_path))
    config = load_config(tmp_path / "controller.toml", overrides(values))
    assert config.agents.urls == (
        "10.0.0.11=https://10.0.0.11:9797",
        "fd00::12=https://[fd00::12]:9797",
    )
    assert config.executors.min == 2


def test_executors_use_the_network_of_the_node_only_where_agents_need_it(tmp_path: Path) -> None:
    with_agents = only(rendered(tmp_path), "Deployment")
    arguments = with_agents["spec"]["template"]["spec"]["containers"][0]["args"]
    assert "spark.executor.instances=2" in arguments
    assert arguments[-2:] == ["--path", "$$(HOME)/in"]
    maps = [d for d in rendered(tmp_path) if d["kind"] == "ConfigMap"]
    assert "hostNetwork: true" in maps[-1]["data"]["executor.yaml"]
    alone = rendered(tmp_path, 'image = "foresight:1"\n')
    maps = [d for d in alone if d["kind"] == "ConfigMap"]
    assert "hostNetwork" not in maps[-1]["data"]["executor.yaml"]
    assert "initContainers" not in only(alone, "Deployment")["spec"]["template"]["spec"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "image: must be given"),
        ('image = "Bad Image"', "must be the name of an image"),
        ('image = "i"\nnamespace = "Upper"', "must be a lower-case name"),
        ('image = "i"\nnamespaces = "x"', "did you mean namespace?"),
        ('image = "i"\n[agent]\nport = 0', "must be between 1 and 65535"),
        ('image = "i"\n[agent]\ntolerations = ["a=b:Never"]', "KEY[=VALUE][:EFFECT]"),
        ('image = "i"\n[driver]\nnodes = ["worker1"]', "must be IP addresses"),
        ('image = "i"\n[driver]\nnodes = ["10.0.0.1", "10.0.0.1"]', "every node once"),
        ('image = "i"\n[driver]\nconf = ["driver.cores=1"]', "spark.KEY=VALUE"),
        ('image = "i"\n[driver]\nconfig = "none.toml"', "no such file"),
    ],
)
def test_values_that_cannot_be_used_are_one_line(tmp_path: Path, text: str, words: str) -> None:
    with pytest.raises(ConfigError, match=re.escape(words)):
        rendered(tmp_path, text)
