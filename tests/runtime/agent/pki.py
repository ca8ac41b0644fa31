"""Certificates for tests: an authority with an agent and controllers, good and bad ones."""

import datetime
from pathlib import Path

from runtime.agent.service.certs import Issued, issue, make_authority
from runtime.agent.wire.tls import TlsFiles

LONG_AGO = datetime.datetime(2020, 1, 1, tzinfo=datetime.UTC)


class Authority:
    """A private authority in a folder of its own."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        make_authority(folder, "test-authority", at=None)

    @property
    def certificate(self) -> Path:
        return self.folder / "ca.pem"

    def agent(self, name: str = "agent", at: datetime.datetime | None = None) -> TlsFiles:
        return self._files(issue(self.folder, name, ["127.0.0.1", "localhost"], "agent", 30, at))

    def controller(self, name: str, at: datetime.datetime | None = None) -> TlsFiles:
        return self._files(issue(self.folder, name, [], "controller", 30, at))

    def expired(self, name: str) -> TlsFiles:
        return self.controller(name, LONG_AGO)

    def _files(self, issued: Issued) -> TlsFiles:
        return TlsFiles(self.certificate, issued.certificate, issued.key)
