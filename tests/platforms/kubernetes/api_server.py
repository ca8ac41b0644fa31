"""The part of the Kubernetes API that Spark's scheduler uses, served on loopback by this process.

Pods (create, read, list with selectors, watch, patch, delete) and config maps; no admission, no
authorisation, one node. Spark's own Kubernetes scheduler on the other side is the real one.
"""

import asyncio
import threading
import uuid
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Self, TypeVar

from aiohttp import web

from tests.platforms.kubernetes.kubelet import Kubelet, Node, Pod
from tests.platforms.kubernetes.selectors import selects

Result = TypeVar("Result")

_LONGEST_S = 60.0
_PODS = "/api/v1/namespaces/{namespace}/pods"


@dataclass(slots=True, eq=False)
class _Watch:
    selector: str | None
    socket: web.WebSocketResponse


@dataclass(slots=True)
class KubernetesApi:
    """Context manager: a server with one node, in a thread of its own."""

    folder: Path
    node: Node = field(default_factory=Node)
    url: str = field(default="", init=False)
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop, init=False)
    _pods: dict[str, Pod] = field(default_factory=dict, init=False)
    _watches: list[_Watch] = field(default_factory=list, init=False)
    _tasks: set[asyncio.Task[None]] = field(default_factory=set, init=False)
    _version: int = field(default=1, init=False)
    _kubelet: Kubelet = field(init=False)
    _thread: threading.Thread = field(init=False)
    _runner: web.AppRunner = field(init=False)

    def __enter__(self) -> Self:
        self._kubelet = Kubelet(
            self.node, self.folder / "pods", lambda pod: self._emit("MODIFIED", pod)
        )
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)
        self._thread.start()
        self._call(self._serve())
        return self

    def __exit__(self, *_: object) -> None:
        self._call(self._end())
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(_LONGEST_S)
        self._loop.close()

    def pids(self) -> dict[str, int]:
        """Processes of the pods that run."""
        return self._call(self._later(self._kubelet.pids))

    def phases(self) -> dict[str, str]:
        return self._call(
            self._later(lambda: {name: p["status"]["phase"] for name, p in self._pods.items()})
        )

    def evict(self, name: str) -> None:
        """As a node does that is drained: the pod is deleted, its process asked to end."""
        self._call(self._delete(name))

    def _call(self, work: Coroutine[Any, Any, Result]) -> Result:
        future: Future[Result] = asyncio.run_coroutine_threadsafe(work, self._loop)
        return future.result(_LONGEST_S)

    async def _later(self, work: Callable[[], Result]) -> Result:
        return work()

    async def _serve(self) -> None:
        application = web.Application(client_max_size=50_000_000)
        application.add_routes(
            [
                web.post(_PODS, self._post_pod),
                web.get(_PODS, self._get_pods),
                web.delete(_PODS, self._delete_pods),
                web.get(_PODS + "/{name}", self._get_pod),
                web.patch(_PODS + "/{name}", self._patch_pod),
                web.delete(_PODS + "/{name}", self._delete_pod),
                web.post("/api/v1/namespaces/{namespace}/configmaps", self._post_other),
                web.route("*", "/{rest:.*}", self._other),
            ]
        )
        self._runner = web.AppRunner(application)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        host, port = self._runner.addresses[0][:2]
        self.url = f"http://{host}:{port}"

    async def _end(self) -> None:
        for name in list(self._pods):
            await self._delete(name)
        for task in self._tasks:
            task.cancel()
        for watch in list(self._watches):
            await watch.socket.close()
        await self._runner.cleanup()

    async def _post_pod(self, request: web.Request) -> web.Response:
        pod: Pod = await request.json()
        _complete(pod, request.match_info["namespace"])
        pod["status"] = {"phase": "Pending"}
        self._pods[pod["metadata"]["name"]] = pod
        self._emit("ADDED", pod)
        task = asyncio.ensure_future(self._kubelet.run(pod))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return web.json_response(pod, status=201)

    async def _get_pods(self, request: web.Request) -> web.StreamResponse:
        selector = request.query.get("labelSelector")
        if request.query.get("watch") == "true":
            return await self._watch(request, selector)
        listed = {
            "kind": "PodList",
            "apiVersion": "v1",
            "metadata": {"resourceVersion": str(self._version)},
            "items": self._selected(request),
        }
        return web.json_response(listed)

    async def _watch(self, request: web.Request, selector: str | None) -> web.StreamResponse:
        socket = web.WebSocketResponse()
        await socket.prepare(request)
        watch = _Watch(selector, socket)
        self._watches.append(watch)
        try:
            async for _ in socket:
                pass
        finally:
            self._watches.remove(watch)
        return socket

    async def _get_pod(self, request: web.Request) -> web.Response:
        pod = self._pods.get(request.match_info["name"])
        return _missing() if pod is None else web.json_response(pod)

    async def _patch_pod(self, request: web.Request) -> web.Response:
        pod = self._pods.get(request.match_info["name"])
        if pod is None:
            return _missing()
        change = await request.json()
        labels = change.get("metadata", {}).get("labels") if isinstance(change, dict) else None
        pod["metadata"].setdefault("labels", {}).update(labels or {})
        self._emit("MODIFIED", pod)
        return web.json_response(pod)

    async def _delete_pod(self, request: web.Request) -> web.Response:
        pod = await self._delete(request.match_info["name"])
        return _missing() if pod is None else web.json_response(pod)

    async def _delete_pods(self, request: web.Request) -> web.Response:
        for pod in self._selected(request):
            await self._delete(pod["metadata"]["name"])
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    async def _post_other(self, request: web.Request) -> web.Response:
        made = await request.json()
        _complete(made, request.match_info["namespace"])
        return web.json_response(made, status=201)

    async def _other(self, request: web.Request) -> web.Response:
        if request.method == "GET":
            return web.json_response({"kind": "List", "apiVersion": "v1", "items": []})
        return web.json_response({"kind": "Status", "apiVersion": "v1", "status": "Success"})

    def _selected(self, request: web.Request) -> list[Pod]:
        selector, phase = request.query.get("labelSelector"), request.query.get("fieldSelector", "")
        return [
            pod
            for pod in self._pods.values()
            if selects(selector, pod["metadata"].get("labels", {}))
            and (
                not phase.startswith("status.phase=")
                or pod["status"]["phase"] == phase.partition("=")[2].lstrip("=")
            )
        ]

    async def _delete(self, name: str) -> Pod | None:
        pod = self._pods.pop(name, None)
        if pod is not None:
            pod["metadata"]["deletionTimestamp"] = _now()
            await self._kubelet.delete(name)
            self._emit("DELETED", pod)
        return pod

    def _emit(self, kind: str, pod: Pod) -> None:
        self._version += 1
        pod["metadata"]["resourceVersion"] = str(self._version)
        labels = pod["metadata"].get("labels", {})
        for watch in self._watches:
            if selects(watch.selector, labels) and not watch.socket.closed:
                task = asyncio.ensure_future(watch.socket.send_json({"type": kind, "object": pod}))
                self._tasks.add(task)
                task.add_done_callback(self._tasks.discard)


def _complete(made: Pod, namespace: str) -> None:
    """What a server adds to an object that is created."""
    made["metadata"] |= {
        "uid": str(uuid.uuid4()),
        "namespace": namespace,
        "creationTimestamp": _now(),
    }


def _missing() -> web.Response:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound"}
    return web.json_response({**status, "code": 404}, status=404)


def _now() -> str:
    return datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
