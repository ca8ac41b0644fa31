"""Mutual TLS 1.3 between controllers and agents, with one private authority and nothing else.

`ServerTls` holds the context for new connections and follows its files: a changed set is proven
complete and valid before it is used, and one that is not leaves the old set in force.
"""

import ssl
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtime.agent.service.settings import Tls
from runtime.agent.wire.trust import check_private, check_unwritable
from runtime.config.strict import ConfigError

_ROUND_TRIPS = 4
"""TLS 1.3 needs one and a half."""

Fingerprint = tuple[tuple[int, int, int] | None, ...]


@dataclass(frozen=True, slots=True)
class TlsFiles:
    """The authority, and the certificate and key that prove who we are."""

    authority: Path
    certificate: Path
    key: Path

    @classmethod
    def of(cls, settings: Tls) -> "TlsFiles | None":
        paths = (settings.authority, settings.certificate, settings.key)
        given = [Path(path) for path in paths if path is not None]
        return cls(*given) if len(given) == len(paths) else None


class ServerTls:
    """The context for the next connection, made anew when its files change."""

    def __init__(self, files: TlsFiles) -> None:
        self._files = files
        self._last_fingerprint = _fingerprint(files)
        self.context = server_context(files)
        self.generation = 0
        """Counts the sets of files that were taken into use."""

    def refresh(self) -> bool:
        """Whether a new set was taken into use; raises `ConfigError`, once, for a bad one."""
        fingerprint = _fingerprint(self._files)
        if fingerprint == self._last_fingerprint:
            return False
        self._last_fingerprint = fingerprint
        self.context = server_context(self._files)
        self.generation += 1
        return True


def server_context(files: TlsFiles) -> ssl.SSLContext:
    """A context that talks only to holders of a certificate of the authority."""
    context = _context(ssl.PROTOCOL_TLS_SERVER, files)
    context.verify_mode = ssl.CERT_REQUIRED
    # A resumed session would skip the certificate, and with it its expiry.
    context.num_tickets = 0
    _prove(context, files)
    return context


def client_context(files: TlsFiles) -> ssl.SSLContext:
    """The controller's side: the agent must have a certificate for the host it is called by."""
    return _context(ssl.PROTOCOL_TLS_CLIENT, files)


def _context(protocol: int, files: TlsFiles) -> ssl.SSLContext:
    check_unwritable(files.authority)
    check_unwritable(files.certificate)
    check_private(files.key)
    context = ssl.SSLContext(protocol)
    context.minimum_version = context.maximum_version = ssl.TLSVersion.TLSv1_3
    try:
        context.load_verify_locations(cafile=files.authority)
    except (ssl.SSLError, OSError) as error:
        raise ConfigError(
            str(files.authority), f"no certificate of an authority ({_words(error)})"
        ) from None
    try:
        # Without a password function an encrypted key would ask the terminal for one.
        context.load_cert_chain(files.certificate, files.key, password=_no_password)
    except (ssl.SSLError, OSError, _Encrypted) as error:
        raise ConfigError(
            str(files.certificate), f"does not go with {files.key} ({_words(error)})"
        ) from None
    return context


def _prove(server: ssl.SSLContext, files: TlsFiles) -> None:
    """Let a client that trusts the authority shake hands in memory: it finds an expired, foreign
    or unsuitable certificate before a controller does."""
    client = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    client.check_hostname = False
    client.load_verify_locations(cafile=files.authority)
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_side = server.wrap_bio(to_server, to_client, server_side=True)
    client_side = client.wrap_bio(to_client, to_server)
    try:
        for _ in range(_ROUND_TRIPS):
            try:
                client_side.do_handshake()
            except ssl.SSLWantReadError:
                pass
            else:
                return
            with suppress(ssl.SSLWantReadError):
                server_side.do_handshake()
    except ssl.SSLError as error:
        raise ConfigError(
            str(files.certificate), f"no controller would trust it ({_words(error)})"
        ) from None
    raise ConfigError(str(files.certificate), "no TLS 1.3 handshake is possible with it")


def handshake_words(error: BaseException) -> str:
    """Why a handshake failed, in the words of OpenSSL."""
    return _words(error) or type(error).__name__


class _Encrypted(Exception):
    pass


def _no_password() -> str:
    raise _Encrypted("the key must not be encrypted")


def _words(error: BaseException) -> str:
    if isinstance(error, ssl.SSLCertVerificationError):
        return error.verify_message
    if isinstance(error, ssl.SSLError) and error.reason:
        return error.reason.replace("_", " ").lower()
    return str(error)


def _fingerprint(files: TlsFiles) -> Fingerprint:
    return tuple(_one(path) for path in (files.authority, files.certificate, files.key))


def _one(path: Path) -> tuple[int, int, int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size
