"""Who may look: no login on loopback, never anything without a token elsewhere."""

import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from runtime.config.web import Web, is_loopback
from runtime.web.auth import Access, AccessRefused
from runtime.web.server import WebServer, web_server
from tests.runtime.web.client import ask
from tests.runtime.web.recorded import config

TOKEN = "a-token-of-some-length"
PATHS = ("/api/state", "/api/steps", "/api/events", "/metrics", "/assets/app.js")


@pytest.fixture
def token_file(tmp_path: Path) -> Path:
    path = tmp_path / "token"
    path.touch(mode=0o600)
    path.write_text(f"{TOKEN}\n")
    return path


@pytest.fixture
def guarded(journal: Path, token_file: Path) -> Iterator[WebServer]:
    options = Web(port=0, token_file=str(token_file))
    with web_server(config(), options, journal) as server:
        yield server


@pytest.mark.parametrize("address", ["0.0.0.0", "::", "192.0.2.1", "example", "127.0.0.1.nip.io"])
def test_elsewhere_nothing_starts_without_a_token(address: str, journal: Path) -> None:
    assert not is_loopback(address)
    with pytest.raises(AccessRefused, match="needs a token"):
        web_server(config(), Web(address=address), journal)


@pytest.mark.parametrize("address", ["127.0.0.1", "127.9.9.9", "::1", "localhost"])
def test_loopback_needs_none(address: str) -> None:
    assert Access(address).token is None


def test_a_token_must_be_long_and_private(tmp_path: Path, token_file: Path, journal: Path) -> None:
    def refused(options: Web) -> str:
        with pytest.raises(AccessRefused) as told:
            web_server(config(), options, journal)
        return str(told.value)

    token_file.write_text("short")
    assert "16 characters" in refused(Web(token_file=str(token_file)))
    token_file.write_text(TOKEN)
    token_file.chmod(0o644)
    assert "chmod 0600" in refused(Web(token_file=str(token_file)))
    assert "cannot be read" in refused(Web(token_file=str(tmp_path / "none")))
    assert TOKEN not in repr(Access("127.0.0.1", TOKEN))


@pytest.mark.parametrize("path", PATHS)
def test_every_path_asks_for_the_token(guarded: WebServer, path: str) -> None:
    for headers in ({}, {"Authorization": "Bearer wrong"}, {"Cookie": f"foresight={TOKEN}"}):
        answer = ask(guarded.url, path, headers)
        assert answer.status == 401 and TOKEN.encode() not in answer.body
    if path != "/api/events":
        assert ask(guarded.url, path, {"Authorization": f"Bearer {TOKEN}"}).status == 200


def test_a_browser_logs_in_and_gets_a_cookie(guarded: WebServer) -> None:
    first = ask(guarded.url, "/")
    assert (first.status, first.headers["Location"]) == (303, "/login")
    assert b"<form" in ask(guarded.url, "/login").body
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    wrong = ask(guarded.url, "/login", form, method="POST", body="token=not-the-token-at-all")
    assert wrong.status == 401 and b"not the token" in wrong.body
    assert "Set-Cookie" not in wrong.headers
    right = ask(guarded.url, "/login", form, method="POST", body=f"token={TOKEN}")
    cookie = right.headers["Set-Cookie"]
    assert right.status == 303 and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert TOKEN not in cookie
    seen = ask(guarded.url, "/api/state", {"Cookie": cookie.partition(";")[0]})
    assert seen.status == 200


def test_probes_need_no_token_and_learn_nothing(guarded: WebServer) -> None:
    answer = ask(guarded.url, "/healthz")
    assert answer.body in (b"ok\n",) or answer.status == 503
    assert b"orders" not in answer.body


@pytest.mark.parametrize("host", ["evil.example", "evil.example:4050", "127.0.0.1.evil", ""])
def test_names_of_others_are_turned_away(server: WebServer, host: str) -> None:
    assert ask(server.url, "/api/state", {"Host": host}).status in (400, 421)


@pytest.mark.parametrize("host", ["localhost:1234", "127.0.0.1", "[::1]:80", "LOCALHOST"])
def test_names_of_this_machine_are_served(server: WebServer, host: str) -> None:
    assert ask(server.url, "/api/state", {"Host": host}).status == 200


def test_answers_forbid_what_the_page_does_not_need(server: WebServer) -> None:
    for path in ("/", "/api/state", "/metrics", "/nothing"):
        headers = ask(server.url, path, {"Origin": "https://evil.example"}).headers
        assert "default-src 'none'" in headers["Content-Security-Policy"]
        assert headers["X-Frame-Options"] == "DENY"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert not [name for name in headers if name.startswith("Access-Control")]


@pytest.mark.parametrize("path", ["/assets/../server.py", "/assets/%2e%2e%2fserver.py", "/etc"])
def test_there_is_nothing_but_the_assets(server: WebServer, path: str) -> None:
    assert ask(server.url, path).status == 404


def test_nothing_can_be_changed(server: WebServer) -> None:
    for method in ("POST", "PUT", "DELETE", "OPTIONS"):
        assert ask(server.url, "/api/state", method=method).status == 405


def test_a_taken_port_is_passed_over(journal: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        taken = other.getsockname()[1]
        with web_server(config(), Web(port=taken), journal) as server:
            assert not server.url.endswith(f":{taken}/")
            assert ask(server.url, "/api/state").status == 200
