"""Spark's real Kubernetes scheduler under the product's scaler, on a node whose pods are processes.

The API server is one of the tests' own, and says so in docs/platforms.md.
"""

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.spark.launching.local_cluster import why_unavailable
from tests.platforms.driven import DrivenApplication
from tests.platforms.kubernetes.api_server import KubernetesApi
from tests.platforms.kubernetes.selectors import selects

pytestmark = pytest.mark.platforms

OPTIONS = {
    "spark.kubernetes.container.image": "none",
    "spark.kubernetes.namespace": "default",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "512m",
    "spark.executor.memory": "512m",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.shuffle.partitions": "3",
    # Soon enough for a test; a second is the default between two rounds of orders.
    "spark.kubernetes.allocation.batch.delay": "200ms",
}
LOSSES = 6
"""Spark's own budget would be used up by the fourth."""


@pytest.fixture
def api(tmp_path: Path) -> Iterator[KubernetesApi]:
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    with KubernetesApi(tmp_path) as server:
        yield server


@pytest.fixture
def application(api: KubernetesApi, tmp_path: Path) -> Iterator[DrivenApplication]:
    with DrivenApplication(f"k8s://{api.url}", tmp_path, OPTIONS) as driven:
        yield driven


def test_it_starts_with_the_minimum_grows_drains_and_loses_nothing(
    api: KubernetesApi, application: DrivenApplication
) -> None:
    first = application.runs(1)
    assert all(host.startswith("127.0.1.") for host in first["executors"].values())
    assert len(api.phases()) == 1, "no more pods were ordered than the minimum"
    application.order(3)
    grown = application.runs(3)
    assert len(set(grown["executors"].values())) == 3
    application.order(1)
    application.runs(1)
    assert "executor_drained" in application.events()
    assert "executor_killed" not in application.events()
    result = application.finish()
    assert result["failure"] is None
    assert result["each_once"]
    assert result["rows"] > 0


def test_a_stream_survives_more_lost_executors_than_spark_would_allow(
    api: KubernetesApi, application: DrivenApplication
) -> None:
    application.runs(1)
    application.order(2)
    for number in range(LOSSES):
        running = application.runs(2)
        victim = sorted(api.pids().items())[0]
        os.kill(victim[1], signal.SIGKILL)
        application.differs(running, f"loss {number + 1}")
    running = application.runs(2)
    api.evict(min(api.pids()))
    # Its place may be filled before a step sees it empty.
    application.differs(running, "the eviction")
    application.runs(2)
    result = application.finish()
    assert result["failure"] is None
    assert result["each_once"]


def test_nodes_that_are_slow_are_learned_and_pods_that_find_no_place_are_withdrawn(
    api: KubernetesApi, application: DrivenApplication
) -> None:
    application.runs(1)
    api.node.start_s = 24.0
    application.order(2)
    waiting = application.until(lambda step: step["start_up_s"] > 10.0, "a start that takes long")
    assert waiting["observed"] == 1, "it is known to be slow before it has come"
    application.runs(2)
    api.node.most_pods = 2
    application.order(3)
    application.until(lambda step: step["requested"] == 3, "the order")
    application.order(1)
    application.until(
        lambda step: step["observed"] == 1 and step["requested"] == 1, "one executor again"
    )
    assert application.finish()["each_once"]


@pytest.mark.parametrize(
    ("selector", "expected"),
    [
        (None, True),
        ("app=spark", True),
        ("app=spark,role in (executor, driver)", True),
        ("app==spark,role notin (driver)", True),
        ("role!=executor", False),
        ("!app", False),
        ("app,!gone", True),
        ("app=other", False),
    ],
)
def test_selectors_select(selector: str | None, expected: bool) -> None:
    assert selects(selector, {"app": "spark", "role": "executor"}) == expected
