"""The answers of the server: which paths there are and what each of them says.

Everything is read-only. Every answer forbids what the page does not need: scripts and styles from
elsewhere, frames, and reading it from other sites.
"""

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from importlib.resources import files

import msgspec
from aiohttp import web

from runtime.metrics.figures import figures_of
from runtime.metrics.hosts import HostView
from runtime.metrics.lines import ahead_of, last_values, lines_of, tails_of
from runtime.metrics.state import RunState
from runtime.report.charts import Polyline
from runtime.web.auth import COOKIE, Access
from runtime.web.metrics import CONTENT_TYPE, ControllerMetrics
from runtime.web.stream import Stream, event

CHART_POINTS = 1000
"""More than this a chart cannot show; answers are thinned to it."""
LAST_POINTS = 600
"""Far enough back for whatever may still hold."""
WRONG_TOKEN_WAIT_S = 0.5
_LATE_STEPS = 10
_LATE_S = 60.0
_FAILED_STEPS = 3
"""Failures in a row from which the controller is not healthy."""
_LONGEST_BODY = 4096
_ANSWER = b"<!-- answer -->"
_WRONG = b'<p class="problem" role="alert">That is not the token.</p>'
_OPEN_PATHS = (
    "/healthz",
    "/login",
    "/assets/chart.css",
    "/assets/style.css",
    "/assets/icon.svg",
)
_TYPES = {
    "css": "text/css",
    "js": "text/javascript",
    "html": "text/html",
    "svg": "image/svg+xml",
}
_HEADERS = {
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'self'; "
    "frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Cache-Control": "no-store",
}

_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]
_encoder = msgspec.json.Encoder()


class Pages:
    """Answers from the state; to be used on the event loop that changes it."""

    def __init__(
        self,
        access: Access,
        state: RunState,
        stream: Stream,
        metrics: ControllerMetrics,
        hosts: Callable[[], tuple[HostView, ...]],
        live: bool,
        wall_s: Callable[[], float],
    ) -> None:
        """`live`: the steps come from this process, so that their absence is a fault."""
        self._access = access
        self._state = state
        self._stream = stream
        self._metrics = metrics
        self._hosts = hosts
        self._live = live
        self._wall_s = wall_s
        self._began_s = wall_s()
        self._boot = secrets.token_hex(8)
        """Tells a page that the server is another one than before."""
        self._assets = _assets()

    def application(self) -> web.Application:
        app = web.Application(middlewares=[self._guard], client_max_size=_LONGEST_BODY)
        app.on_response_prepare.append(_add_headers)
        app.add_routes(
            [
                web.get("/", self._asset_at("index.html")),
                web.get("/assets/{name}", self._asset),
                web.get("/api/state", self._state_answer),
                web.get("/api/steps", self._steps_answer),
                web.get("/api/events", self._events_answer, allow_head=False),
                web.get("/metrics", self._metrics_answer),
                web.get("/healthz", self._health_answer),
                web.get("/login", self._asset_at("login.html")),
                web.post("/login", self._log_in),
            ]
        )
        return app

    def step_event(self) -> bytes:
        """What a page needs of the step last added."""
        state, points = self._state, self._state.points
        document = {
            **self._last_step(),
            "lines": tails_of(state.catalogue, points, state.step_s),
            "decision": state.decisions.last,
        }
        return event("step", _encoder.encode(document))

    @web.middleware
    async def _guard(self, request: web.Request, handler: _Handler) -> web.StreamResponse:
        if not self._access.knows_host(request):
            raise web.HTTPMisdirectedRequest(
                text="This address answers to localhost and 127.0.0.1 only.\n"
            )
        if request.path not in _OPEN_PATHS and not self._access.admits(request):
            if request.path == "/":
                raise web.HTTPSeeOther("/login")
            raise web.HTTPUnauthorized(
                text="A token is needed: Authorization: Bearer TOKEN.\n",
                headers={"WWW-Authenticate": 'Bearer realm="foresight"'},
            )
        return await handler(request)

    async def _state_answer(self, _: web.Request) -> web.Response:
        state = self._state
        document = {
            **self._last_step(),
            "boot": self._boot,
            "now_s": self._wall_s(),
            "live": self._live,
            "window_s": state.window_s,
            "facts": state.facts,
            "step_s": state.step_s,
            "charts": state.catalogue.drawn_charts(state.facts),
            "lines": self._lines(float("-inf")),
            "decisions": state.decisions.entries,
        }
        return _json(document)

    def _last_step(self) -> dict[str, object]:
        state, hosts = self._state, self._hosts()
        view = state.view(hosts)
        return {
            "latest": state.latest(view),
            "figures": figures_of(state, view),
            "last": last_values(state.catalogue, state.points[-LAST_POINTS:]),
            "ahead": {} if view.last is None else ahead_of(state.catalogue, view),
            "hosts": hosts,
        }

    def _lines(self, since_s: float) -> dict[str, Polyline]:
        points = self._state.history.since(since_s, CHART_POINTS)
        return lines_of(self._state.catalogue, points, self._state.step_s)

    async def _steps_answer(self, request: web.Request) -> web.Response:
        try:
            since_s = float(request.query.get("since", "-inf"))
        except ValueError:
            raise web.HTTPBadRequest(text="since must be seconds since 1970.\n") from None
        return _json({"boot": self._boot, "lines": self._lines(since_s)})

    async def _events_answer(self, request: web.Request) -> web.StreamResponse:
        if self._stream.full:
            raise web.HTTPServiceUnavailable(text="Too many pages are open.\n")
        response = web.StreamResponse(
            headers={"Content-Type": "text/event-stream", "X-Accel-Buffering": "no"}
        )
        await response.prepare(request)
        last = self._state.record
        hello = {"boot": self._boot, "at_s": None if last is None else last.at_s}
        greeting = b"retry: 2000\n" + event("hello", _encoder.encode(hello))
        async for message in self._stream.messages(greeting):
            await response.write(message)
        return response

    async def _metrics_answer(self, _: web.Request) -> web.Response:
        body = self._metrics.render(self._state, self._hosts(), self._wall_s())
        return web.Response(body=body, headers={"Content-Type": CONTENT_TYPE})

    async def _health_answer(self, _: web.Request) -> web.Response:
        """Says nothing about the application, so that probes need no token."""
        record, failed = self._state.record, self._state.failed_in_a_row
        if self._live and record is not None:
            # The last step before a restart may be of yesterday.
            age_s = self._wall_s() - max(record.at_s, self._began_s)
            if age_s > max(_LATE_STEPS * self._state.step_s, _LATE_S):
                raise web.HTTPServiceUnavailable(text=f"no step for {age_s:.0f} s\n")
            if failed >= _FAILED_STEPS and record.at_s >= self._began_s:
                raise web.HTTPServiceUnavailable(text=f"the last {failed} steps failed\n")
        return web.Response(text="ok\n")

    async def _log_in(self, request: web.Request) -> web.Response:
        form = await request.post()
        if not self._access.is_token(str(form.get("token", "")).strip()):
            await asyncio.sleep(WRONG_TOKEN_WAIT_S)
            page = self._assets["login.html"].replace(_ANSWER, _WRONG)
            return web.Response(status=401, body=page, content_type="text/html", charset="utf-8")
        response = web.Response(status=303, headers={"Location": "/"})
        response.set_cookie(COOKIE, self._access.cookie, httponly=True, samesite="Strict")
        return response

    async def _asset(self, request: web.Request) -> web.Response:
        return self._asset_response(request.match_info["name"])

    def _asset_at(self, name: str) -> _Handler:
        async def answer(_: web.Request) -> web.StreamResponse:
            return self._asset_response(name)

        return answer

    def _asset_response(self, name: str) -> web.Response:
        # Only what was read at the start: no path of a request ever reaches the file system.
        content = self._assets.get(name)
        if content is None:
            raise web.HTTPNotFound
        kind = _TYPES[name.rpartition(".")[2]]
        return web.Response(body=content, content_type=kind, charset="utf-8")


def _assets() -> dict[str, bytes]:
    folder = files("runtime.web") / "assets"
    return {
        item.name: item.read_bytes()
        for item in folder.iterdir()
        if item.name.rpartition(".")[2] in _TYPES
    }


def _json(document: object) -> web.Response:
    response = web.Response(body=_encoder.encode(document), content_type="application/json")
    response.enable_compression()
    return response


async def _add_headers(_: web.Request, response: web.StreamResponse) -> None:
    response.headers.update(_HEADERS)
    response.headers.pop("Server", None)
