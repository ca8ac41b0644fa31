"""Who may look: everybody on loopback, elsewhere only who has the token.

Without a token the server listens on loopback alone, and answers only to names of this machine: a
page of another site that had its own name point here (DNS rebinding) finds nothing. With a token a
name proves nothing and is not needed: neither the header nor the cookie is ever sent by a stranger.
"""

import hashlib
import hmac
import os
import stat
from dataclasses import dataclass, field
from ipaddress import ip_address
from pathlib import Path

from aiohttp import web

from runtime.config.web import is_loopback

COOKIE = "foresight"
SHORTEST_TOKEN = 16


class AccessRefused(ValueError):
    """The server must not start like this."""


@dataclass(frozen=True, slots=True)
class Access:
    """`token` None: no login, which only loopback allows."""

    address: str
    token: str | None = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.token is None and not is_loopback(self.address):
            raise AccessRefused(
                f"{self.address} is not loopback: listening there needs a token, see web.token_file"
            )
        if self.token is not None and len(self.token) < SHORTEST_TOKEN:
            raise AccessRefused(
                f"the web token must have {SHORTEST_TOKEN} characters at least, "
                f"it has {len(self.token)}"
            )

    @property
    def cookie(self) -> str:
        """Proves the token without being it: a stolen cookie opens nothing else."""
        secret = (self.token or "").encode()
        return hmac.new(secret, b"foresight web cookie", hashlib.sha256).hexdigest()

    def knows_host(self, request: web.BaseRequest) -> bool:
        return self.token is not None or _is_this_machine(request.host)

    def admits(self, request: web.BaseRequest) -> bool:
        if self.token is None:
            return True
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        if scheme.lower() == "bearer" and self.is_token(given.strip()):
            return True
        return _equal(request.cookies.get(COOKIE, ""), self.cookie)

    def is_token(self, given: str) -> bool:
        return self.token is not None and _equal(given, self.token)


def read_token(path: Path) -> str:
    """The token of a file that nobody else can read; `AccessRefused` otherwise."""
    try:
        with path.open("rb") as file:
            status = os.fstat(file.fileno())
            text = file.read(4096).decode().strip()
    except (OSError, UnicodeDecodeError) as error:
        raise AccessRefused(f"token file {path} cannot be read: {error}") from None
    if status.st_mode & (stat.S_IRWXG | stat.S_IRWXO):
        raise AccessRefused(f"token file {path}: others must not read it: chmod 0600")
    return text


def _equal(given: str, right: str) -> bool:
    # Of digests, so that neither length nor place of a difference shows in the time it takes.
    return hmac.compare_digest(_digest(given), _digest(right))


def _digest(text: str) -> bytes:
    return hashlib.sha256(text.encode(errors="surrogateescape")).digest()


def _is_this_machine(host: str) -> bool:
    """The Host header, with or without a port."""
    name = host.rsplit(":", 1)[0] if host.rpartition(":")[2].isdigit() else host
    if name.lower() == "localhost":
        return True
    try:
        return ip_address(name.removeprefix("[").removesuffix("]")).is_loopback
    except ValueError:
        return False
