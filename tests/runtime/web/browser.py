"""A headless Chromium, driven over its DevTools protocol by a web socket and nothing else.

Calls are synchronous: each sends one command and reads until its answer has come; what the page
reports meanwhile is kept.
"""

import asyncio
import base64
import contextlib
import itertools
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import aiohttp

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
LONGEST_S = 60.0
"""For anything that must come to pass on a machine that has other things to do."""


def chromium() -> str | None:
    return next((found for name in NAMES if (found := shutil.which(name))), None)


class Page:
    """One tab."""

    def __init__(self, browser: "Browser", target: str, session: str) -> None:
        self._browser = browser
        self._target = target
        self._session = session
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def call(self, method: str, **parameters: object) -> dict[str, Any]:
        return self._browser.call(method, parameters, self._session)

    def open(self, url: str) -> None:
        answer = self.call("Page.navigate", url=url)
        assert "errorText" not in answer, answer
        self.wait_for("document.readyState === 'complete'")

    def evaluate(self, expression: str) -> Any:
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def wait_for(self, expression: str) -> Any:
        """The first value of the expression that counts as true."""
        deadline_s = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline_s:
            value = self.evaluate(expression)
            if value:
                return value
            time.sleep(0.05)
        raise AssertionError(f"did not come true: {expression}\n{self.errors()}")

    def resize(self, width: int, height: int, *, mobile: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=mobile,
        )

    def prefer(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.call("Emulation.setEmulatedMedia", features=[feature])

    def screenshot(self, path: Path, *, whole: bool = True) -> None:
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(answer["data"]))

    def errors(self, *, network: bool = True) -> list[str]:
        """What the page complained about so far; `network`: failed requests as well."""
        return [
            words
            for event in self._browser.events
            if event.get("sessionId") == self._session
            and (words := _complaint(event, network)) is not None
        ]

    def close(self) -> None:
        self._browser.call("Target.closeTarget", {"targetId": self._target})


class Browser:
    """Use as a context manager."""

    def __init__(self, program: str, folder: Path) -> None:
        self.events: list[dict[str, Any]] = []
        self._numbers = itertools.count(1)
        self._loop = asyncio.new_event_loop()
        self._process = subprocess.Popen(
            [
                program,
                "--headless=new",
                "--remote-debugging-port=0",
                f"--user-data-dir={folder}",
                "--no-sandbox",  # containers, and root, have none
                "--disable-gpu",
                "--disable-dev-shm-usage",
                "--disable-extensions",
                "--disable-background-networking",
                "--no-first-run",
                "--no-default-browser-check",
                "--hide-scrollbars",
                "about:blank",
            ],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            address = self._address(folder / "DevToolsActivePort")
            self._http, self._socket = self._loop.run_until_complete(_connected(address))
        except BaseException:
            self._end()
            raise

    def page(self) -> Page:
        target = self.call("Target.createTarget", {"url": "about:blank"})["targetId"]
        attached = self.call("Target.attachToTarget", {"targetId": target, "flatten": True})
        return Page(self, target, attached["sessionId"])

    def call(
        self, method: str, parameters: dict[str, object], session: str | None = None
    ) -> dict[str, Any]:
        return self._loop.run_until_complete(
            asyncio.wait_for(self._call(method, parameters, session), LONGEST_S)
        )

    def close(self) -> None:
        self._loop.run_until_complete(self._socket.close())
        self._loop.run_until_complete(self._http.close())
        self._end()

    def _end(self) -> None:
        # Its renderers are in its process group, which is ours to end.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()
        self._loop.close()

    async def _call(
        self, method: str, parameters: dict[str, object], session: str | None
    ) -> dict[str, Any]:
        number = next(self._numbers)
        command: dict[str, object] = {"id": number, "method": method, "params": parameters}
        if session is not None:
            command["sessionId"] = session
        await self._socket.send_json(command)
        while True:
            message: dict[str, Any] = await self._socket.receive_json()
            if message.get("id") == number:
                assert "error" not in message, (method, message["error"])
                result: dict[str, Any] = message["result"]
                return result
            self.events.append(message)

    def _address(self, file: Path) -> str:
        """Chromium writes the port and the path of its socket when it listens."""
        deadline_s = time.monotonic() + LONGEST_S
        while time.monotonic() < deadline_s:
            assert self._process.poll() is None, f"chromium ended with {self._process.returncode}"
            lines = file.read_text().split() if file.exists() else []
            if len(lines) == 2:
                return f"ws://127.0.0.1:{lines[0]}{lines[1]}"
            time.sleep(0.05)
        raise AssertionError("chromium did not begin to listen")


@contextlib.contextmanager
def running(program: str, folder: Path) -> Iterator[Browser]:
    browser = Browser(program, folder)
    try:
        yield browser
    finally:
        browser.close()


async def _connected(
    address: str,
) -> tuple[aiohttp.ClientSession, aiohttp.ClientWebSocketResponse]:
    session = aiohttp.ClientSession()
    try:
        return session, await session.ws_connect(address, max_msg_size=0)
    except BaseException:
        await session.close()
        raise


def _complaint(event: dict[str, Any], network: bool) -> str | None:
    method, parameters = event.get("method"), event.get("params", {})
    if method == "Runtime.exceptionThrown":
        return str(parameters["exceptionDetails"])
    if method == "Runtime.consoleAPICalled" and parameters["type"] in ("error", "warning"):
        return str(parameters["args"])
    if method == "Log.entryAdded":
        entry = parameters["entry"]
        if entry["level"] in ("error", "warning") and (network or entry["source"] != "network"):
            return f"{entry['source']}: {entry['text']} {entry.get('url', '')}"
    return None
