"""A private authority and the certificates of a cluster: one for each agent and each controller.

Agents get certificates for servers and controllers for clients, so neither can stand in for the
other. Nothing is ever overwritten: a folder only gains files. The key of the authority stays in
the folder it was made in; hosts need `ca.pem` alone.
"""

import datetime
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Literal

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

Role = Literal["agent", "controller"]

AUTHORITY = "ca"
LONGEST_DAYS = 3650
# A certificate of the longest life still ends before the authority that was made with it.
AUTHORITY_DAYS = LONGEST_DAYS + 30

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}")
_HOST = re.compile(
    r"(?!.{254})[A-Za-z0-9_]([A-Za-z0-9_-]{0,62})(\.[A-Za-z0-9_]([A-Za-z0-9_-]{0,62}))*"
)
# Clocks of a cluster differ; a certificate made a moment ago must be valid on all of them.
_CLOCK_ALLOWANCE = datetime.timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class Issued:
    """A certificate (0644) and its key (0600), both PEM."""

    certificate: Path
    key: Path


def authority_files(folder: Path) -> Issued:
    """Where the authority of a folder is, whether it has been made or not."""
    return _files(folder, AUTHORITY)


def make_authority(
    folder: Path, name: str, days: int = AUTHORITY_DAYS, at: datetime.datetime | None = None
) -> Issued:
    """Make `ca.pem` and `ca.key` in a folder; raises `FileExistsError` where there is one."""
    subject = _subject(name)
    key = ec.generate_private_key(ec.SECP256R1())
    builder = (
        _builder(subject, subject, key.public_key(), *_validity(days, at))
        .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
        .add_extension(_key_usage(signs_certificates=True), critical=True)
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key()), critical=False
        )
    )
    return _write(folder, AUTHORITY, builder.sign(key, hashes.SHA256()), key)


def check_issue(folder: Path, name: str, hosts: Sequence[str], role: Role) -> None:
    """Refuse what `issue` would refuse, so that several are made all or none."""
    _subject(name)
    if name == AUTHORITY:
        raise ValueError(f"name {name!r} is kept for the authority")
    if role == "agent" and not hosts:
        raise ValueError(f"agent {name!r} needs at least one host name or IP address")
    for host in hosts:
        _host(host)
    _check_absent(_files(folder, name))


def issue(
    folder: Path,
    name: str,
    hosts: Sequence[str],
    role: Role,
    days: int,
    at: datetime.datetime | None = None,
) -> Issued:
    """Make `NAME.pem` and `NAME.key`, signed by the authority of the folder.

    The name is the common name, which controllers are allowed by; `hosts` are the DNS names and IP
    addresses an agent answers under. `at` is the moment of issue, now unless given.
    """
    check_issue(folder, name, hosts, role)
    authority, authority_key = _load_authority(folder)
    begin, end = _validity(days, at)
    if end > authority.not_valid_after_utc:
        raise ValueError(
            f"certificate of {name!r} would outlast its authority, which ends on "
            f"{authority.not_valid_after_utc:%Y-%m-%d}: ask for fewer days or make a new authority"
        )
    key = ec.generate_private_key(ec.SECP256R1())
    purpose = (
        ExtendedKeyUsageOID.SERVER_AUTH if role == "agent" else ExtendedKeyUsageOID.CLIENT_AUTH
    )
    builder = (
        _builder(_subject(name), authority.subject, key.public_key(), begin, end)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(signs_certificates=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([purpose]), critical=True)
        .add_extension(
            x509.SubjectAlternativeName([_host(host) for host in hosts or (name,)]), critical=False
        )
        .add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(authority_key.public_key()),
            critical=False,
        )
    )
    return _write(folder, name, builder.sign(authority_key, hashes.SHA256()), key)


def _builder(
    subject: x509.Name,
    issuer: x509.Name,
    key: ec.EllipticCurvePublicKey,
    begin: datetime.datetime,
    end: datetime.datetime,
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(begin)
        .not_valid_after(end)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key), critical=False)
    )


def _key_usage(signs_certificates: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=not signs_certificates,
        key_cert_sign=signs_certificates,
        crl_sign=signs_certificates,
        content_commitment=False,
        key_encipherment=False,
        data_encipherment=False,
        key_agreement=False,
        encipher_only=False,
        decipher_only=False,
    )


def _validity(
    days: int, at: datetime.datetime | None
) -> tuple[datetime.datetime, datetime.datetime]:
    if not 1 <= days <= AUTHORITY_DAYS:
        raise ValueError(f"days = {days} must be 1 to {AUTHORITY_DAYS}")
    moment = at or datetime.datetime.now(datetime.UTC)
    return moment - _CLOCK_ALLOWANCE, moment + datetime.timedelta(days=days)


def _subject(name: str) -> x509.Name:
    if not _NAME.fullmatch(name):
        raise ValueError(
            f"name {name!r} must be 1 to 63 letters, digits, '.', '_' and '-', "
            "the first a letter or digit"
        )
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _host(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(host))
    except ValueError:
        pass
    if not _HOST.fullmatch(host):
        raise ValueError(f"host {host!r} must be a host name or an IP address")
    return x509.DNSName(host)


def _load_authority(folder: Path) -> tuple[x509.Certificate, ec.EllipticCurvePrivateKey]:
    files = authority_files(folder)
    _check_private(files.key)
    certificate = x509.load_pem_x509_certificate(files.certificate.read_bytes())
    key = serialization.load_pem_private_key(files.key.read_bytes(), password=None)
    if not isinstance(key, ec.EllipticCurvePrivateKey) or key.public_key() != (
        certificate.public_key()
    ):
        raise ValueError(f"{files.key} is not the key of {files.certificate}")
    return certificate, key


def _check_private(key: Path) -> None:
    """A key that others could read may be theirs by now: nothing is signed with it."""
    mode = key.stat().st_mode & 0o777
    if mode & 0o077:
        raise ValueError(f"{key} has mode {mode:04o}, others must not read it: make it 0600")


def _files(folder: Path, name: str) -> Issued:
    return Issued(folder / f"{name}.pem", folder / f"{name}.key")


def _check_absent(files: Issued) -> None:
    for path in (files.key, files.certificate):
        if os.path.lexists(path):
            raise FileExistsError(f"{path} exists and is never overwritten")


def _write(
    folder: Path, name: str, certificate: x509.Certificate, key: ec.EllipticCurvePrivateKey
) -> Issued:
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    mode = folder.stat().st_mode & 0o777
    if mode & 0o022:
        raise ValueError(f"{folder} has mode {mode:04o}, others must not write there: make it 0700")
    files = _files(folder, name)
    _check_absent(files)
    private = key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )
    _write_new(files.key, private, 0o600)
    try:
        _write_new(files.certificate, certificate.public_bytes(serialization.Encoding.PEM), 0o644)
    except OSError:
        files.key.unlink()
        raise
    return files


def _write_new(path: Path, content: bytes, mode: int) -> None:
    # O_EXCL neither overwrites nor follows a link that waits there.
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
    with os.fdopen(os.open(path, flags, mode), "wb") as file:
        os.fchmod(file.fileno(), mode)  # whatever the umask
        file.write(content)
