import datetime
import ssl
from pathlib import Path

import pytest
from cryptography import x509
from cryptography.x509.oid import ExtendedKeyUsageOID

from runtime.agent.service.certs import (
    AUTHORITY_DAYS,
    LONGEST_DAYS,
    Issued,
    authority_files,
    issue,
    make_authority,
)

NOW = datetime.datetime.now(datetime.UTC)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "cluster"
    make_authority(place, "test-authority")
    return place


def server_context(authority: Path, own: Issued) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=authority)
    return _strict(context, own)


def client_context(authority: Path, own: Issued) -> ssl.SSLContext:
    context = ssl.create_default_context(ssl.Purpose.SERVER_AUTH, cafile=authority)
    return _strict(context, own)


def _strict(context: ssl.SSLContext, own: Issued) -> ssl.SSLContext:
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.verify_mode = ssl.CERT_REQUIRED
    context.verify_flags |= ssl.VerifyFlags.VERIFY_X509_STRICT
    context.load_cert_chain(own.certificate, own.key)
    return context


def shake_hands(server: ssl.SSLContext, client: ssl.SSLContext, host: str) -> ssl.SSLObject:
    """Both ends in memory; returns the server's end after it has read one message."""
    to_server, to_client = ssl.MemoryBIO(), ssl.MemoryBIO()
    server_end = server.wrap_bio(to_server, to_client, server_side=True)
    client_end = client.wrap_bio(to_client, to_server, server_hostname=host)
    unfinished = [client_end, server_end]
    for _ in range(10):
        for end in list(unfinished):
            try:
                end.do_handshake()
            except ssl.SSLWantReadError:
                continue
            unfinished.remove(end)
        if not unfinished:
            break
    client_end.write(b"hello")
    assert server_end.read(5) == b"hello"
    return server_end


def test_agent_and_controller_shake_hands(folder: Path) -> None:
    authority = authority_files(folder).certificate
    agent = issue(folder, "worker1", ["worker1", "10.0.0.7", "::1"], "agent", 30)
    controller = issue(folder, "controller", [], "controller", 30)
    server = server_context(authority, agent)
    client = client_context(authority, controller)
    for host in ("worker1", "10.0.0.7", "::1"):
        end = shake_hands(server, client, host)
        peer = end.getpeercert()
        assert peer is not None
        assert peer["subject"] == ((("commonName", "controller"),),)
        assert end.version() == "TLSv1.3"


def test_a_host_that_the_certificate_does_not_name_is_refused(folder: Path) -> None:
    authority = authority_files(folder).certificate
    server = server_context(authority, issue(folder, "worker1", ["worker1"], "agent", 30))
    client = client_context(authority, issue(folder, "controller", [], "controller", 30))
    with pytest.raises(ssl.SSLCertVerificationError, match=r"[Hh]ostname mismatch"):
        shake_hands(server, client, "worker2")


def test_an_agent_cannot_act_as_a_controller(folder: Path) -> None:
    authority = authority_files(folder).certificate
    agent = issue(folder, "worker1", ["worker1"], "agent", 30)
    other = issue(folder, "worker2", ["worker2"], "agent", 30)
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        shake_hands(server_context(authority, agent), client_context(authority, other), "worker1")


def test_a_controller_cannot_act_as_an_agent(folder: Path) -> None:
    authority = authority_files(folder).certificate
    false_agent = issue(folder, "worker1", ["worker1"], "controller", 30)
    controller = issue(folder, "controller", [], "controller", 30)
    server = server_context(authority, false_agent)
    with pytest.raises(ssl.SSLCertVerificationError, match="purpose"):
        shake_hands(server, client_context(authority, controller), "worker1")


def test_a_controller_of_another_authority_of_the_same_name_is_refused(
    folder: Path, tmp_path: Path
) -> None:
    make_authority(tmp_path / "other", "test-authority")
    authority = authority_files(folder).certificate
    agent = issue(folder, "worker1", ["worker1"], "agent", 30)
    intruder = issue(tmp_path / "other", "controller", [], "controller", 30)
    with pytest.raises(ssl.SSLError):
        shake_hands(
            server_context(authority, agent), client_context(authority, intruder), "worker1"
        )


def test_an_expired_controller_is_refused(folder: Path) -> None:
    authority = authority_files(folder).certificate
    agent = issue(folder, "worker1", ["worker1"], "agent", 30)
    expired = issue(folder, "controller", [], "controller", 1, at=NOW - datetime.timedelta(days=2))
    with pytest.raises(ssl.SSLCertVerificationError, match="expired"):
        shake_hands(server_context(authority, agent), client_context(authority, expired), "worker1")


def test_certificates_say_what_they_are_for(folder: Path) -> None:
    authority = x509.load_pem_x509_certificate(authority_files(folder).certificate.read_bytes())
    agent = issue(folder, "worker1", ["worker1.local", "10.0.0.7"], "agent", 30)
    certificate = x509.load_pem_x509_certificate(agent.certificate.read_bytes())
    certificate.verify_directly_issued_by(authority)
    assert authority.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    assert not certificate.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    usage = certificate.extensions.get_extension_for_class(x509.ExtendedKeyUsage).value
    assert list(usage) == [ExtendedKeyUsageOID.SERVER_AUTH]
    names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    assert names.get_values_for_type(x509.DNSName) == ["worker1.local"]
    assert [str(ip) for ip in names.get_values_for_type(x509.IPAddress)] == ["10.0.0.7"]
    assert certificate.not_valid_before_utc < NOW < certificate.not_valid_after_utc
    assert certificate.serial_number != authority.serial_number


def test_keys_are_private_and_nothing_is_overwritten(folder: Path) -> None:
    authority = authority_files(folder)
    agent = issue(folder, "worker1", ["worker1"], "agent", 30)
    modes = {path.name: path.stat().st_mode & 0o777 for path in folder.iterdir()}
    assert modes == {"ca.key": 0o600, "ca.pem": 0o644, "worker1.key": 0o600, "worker1.pem": 0o644}
    assert folder.stat().st_mode & 0o777 == 0o700
    before = {path: path.read_bytes() for path in folder.iterdir()}
    with pytest.raises(FileExistsError, match=r"ca\.key exists"):
        make_authority(folder, "again")
    with pytest.raises(FileExistsError, match=r"worker1\.key exists"):
        issue(folder, "worker1", ["worker1"], "agent", 30)
    agent.key.unlink()
    with pytest.raises(FileExistsError, match=r"worker1\.pem exists"):
        issue(folder, "worker1", ["worker1"], "agent", 30)
    del before[agent.key]
    assert {path: path.read_bytes() for path in folder.iterdir()} == before
    assert authority.key.exists()


def test_a_link_that_waits_for_a_key_is_not_followed(folder: Path, tmp_path: Path) -> None:
    (folder / "worker1.key").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(FileExistsError):
        issue(folder, "worker1", ["worker1"], "agent", 30)
    assert not (tmp_path / "elsewhere").exists()


def test_an_authority_that_others_can_read_signs_nothing(folder: Path) -> None:
    authority_files(folder).key.chmod(0o640)
    with pytest.raises(ValueError, match=r"mode 0640.*make it 0600"):
        issue(folder, "worker1", ["worker1"], "agent", 30)
    assert not (folder / "worker1.key").exists()


def test_a_folder_that_others_can_write_gets_no_keys(tmp_path: Path) -> None:
    tmp_path.chmod(0o777)
    with pytest.raises(ValueError, match=r"mode 0777.*make it 0700"):
        make_authority(tmp_path, "test-authority")
    assert list(tmp_path.iterdir()) == []


def test_the_key_must_belong_to_the_authority(folder: Path, tmp_path: Path) -> None:
    other = make_authority(tmp_path / "other", "test-authority")
    authority_files(folder).key.write_bytes(other.key.read_bytes())
    with pytest.raises(ValueError, match="is not the key of"):
        issue(folder, "worker1", ["worker1"], "agent", 30)


def test_a_certificate_does_not_outlast_its_authority(tmp_path: Path) -> None:
    make_authority(tmp_path / "short", "test-authority", days=10)
    with pytest.raises(ValueError, match="outlast its authority"):
        issue(tmp_path / "short", "worker1", ["worker1"], "agent", 30)
    make_authority(tmp_path / "long", "test-authority")
    issue(tmp_path / "long", "worker1", ["worker1"], "agent", LONGEST_DAYS)


@pytest.mark.parametrize("name", ["", "../x", "a/b", ".hidden", "x" * 64, "a b", "ä", "ca", "a\n"])
def test_names_that_are_no_names_are_refused(folder: Path, name: str) -> None:
    before = sorted(folder.iterdir())
    with pytest.raises(ValueError, match="name"):
        issue(folder, name, ["worker1"], "controller", 30)
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("host", ["", "*.example", "a b", "-a", "a..b", "ä.de", "a\n", "a." * 127])
def test_hosts_that_are_no_hosts_are_refused(folder: Path, host: str) -> None:
    with pytest.raises(ValueError, match="must be a host name or an IP address"):
        issue(folder, "worker1", [host], "agent", 30)
    with pytest.raises(ValueError, match="at least one host"):
        issue(folder, "worker1", [], "agent", 30)


@pytest.mark.parametrize("days", [0, -1, AUTHORITY_DAYS + 1])
def test_days_out_of_range_are_refused(tmp_path: Path, days: int) -> None:
    with pytest.raises(ValueError, match=f"days = {days} must be 1 to"):
        make_authority(tmp_path / "cluster", "test-authority", days)
