"""TLS contexts, the files they come from, and new files in the place of old ones."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path

import pytest

from runtime.agent.wire.client import AgentUnreachable
from runtime.agent.wire.tls import ServerTls, TlsFiles, server_context
from runtime.agent.wire.trust import check_private, check_unwritable
from runtime.config.strict import ConfigError
from tests.runtime.agent.pki import LONG_AGO, Authority
from tests.runtime.agent.running_agent import PATIENCE_S, Service, wait_for


@pytest.fixture
def authority(tmp_path: Path) -> Authority:
    return Authority(tmp_path / "authority")


def put(source: TlsFiles, target: TlsFiles) -> None:
    """Replace files as a deployment does: whole, one after the other."""
    for path, place in ((source.certificate, target.certificate), (source.key, target.key)):
        fresh = place.with_suffix(".new")
        fresh.write_bytes(path.read_bytes())
        fresh.chmod(path.stat().st_mode & 0o777)
        fresh.replace(place)


def test_only_tls_1_3_with_a_certificate(authority: Authority) -> None:
    context = server_context(authority.agent())
    assert context.minimum_version == ssl.TLSVersion.TLSv1_3
    assert context.maximum_version == ssl.TLSVersion.TLSv1_3
    assert context.verify_mode == ssl.CERT_REQUIRED
    assert len(context.get_ca_certs()) == 1, "the private authority and no other"


def _wrong_key(authority: Authority) -> TlsFiles:
    good, other = authority.agent(), authority.agent("other")
    return TlsFiles(good.authority, good.certificate, other.key)


def _of_a_client(authority: Authority) -> TlsFiles:
    return authority.controller("controller")


def _expired(authority: Authority) -> TlsFiles:
    return authority.agent(at=LONG_AGO)


def _foreign(authority: Authority) -> TlsFiles:
    other = Authority(authority.folder / "other").agent()
    return TlsFiles(authority.certificate, other.certificate, other.key)


def _missing(authority: Authority) -> TlsFiles:
    good = authority.agent()
    good.certificate.unlink()
    return good


def _no_certificate(authority: Authority) -> TlsFiles:
    good = authority.agent()
    good.certificate.write_text("nothing of the kind\n")
    return good


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (_wrong_key, "key values mismatch"),
        (_of_a_client, "unsuitable certificate purpose"),
        (_expired, "certificate has expired"),
        (_foreign, "unable to get local issuer certificate"),
        (_missing, "No such file"),
        (_no_certificate, "does not go with"),
    ],
)
def test_files_that_could_not_serve_are_refused_at_the_start(
    authority: Authority, make: Callable[[Authority], TlsFiles], words: str
) -> None:
    with pytest.raises(ConfigError, match=words) as caught:
        ServerTls(make(authority))
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("mode", [0o640, 0o604, 0o660, 0o602, 0o611])
def test_a_key_that_others_could_read_is_refused(authority: Authority, mode: int) -> None:
    files = authority.agent()
    files.key.chmod(mode)
    with pytest.raises(ConfigError, match=f"{files.key}: mode {mode:04o}"):
        server_context(files)


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_file_that_others_could_write_is_refused(tmp_path: Path, mode: int) -> None:
    path = tmp_path / "agent.toml"
    path.touch()
    path.chmod(0o644)
    check_unwritable(path)
    path.chmod(mode)
    with pytest.raises(ConfigError, match="others must not write"):
        check_unwritable(path)


def test_a_folder_that_others_could_write_is_refused_unless_sticky(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    (folder / "inner").mkdir(parents=True)
    path = folder / "inner" / "agent.key"
    path.touch(mode=0o600)
    folder.chmod(0o777)
    with pytest.raises(ConfigError, match=f"mode 0777 of {folder}"):
        check_private(path)
    folder.chmod(0o1777)
    check_private(path)


def test_a_link_is_as_safe_as_the_folder_it_points_into(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir()
    (folder / "agent.toml").touch(mode=0o644)
    link = tmp_path / "agent.toml"
    link.symlink_to(folder / "agent.toml")
    check_unwritable(link)
    folder.chmod(0o777)
    with pytest.raises(ConfigError, match="others must not write"):
        check_unwritable(link)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file to somebody else")
def test_a_file_of_another_user_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "agent.toml"
    path.touch(mode=0o644)
    os.chown(path, 12345, -1)
    with pytest.raises(ConfigError, match="owner 12345"):
        check_unwritable(path)


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="regular file"):
        check_unwritable(tmp_path)


def test_nothing_happens_while_the_files_stay(authority: Authority) -> None:
    tls = ServerTls(authority.agent())
    context = tls.context
    assert not tls.refresh()
    assert tls.context is context


def test_new_files_serve_new_connections_on_the_same_socket(authority: Authority) -> None:
    files, controller = authority.agent(), authority.controller("controller")
    with Service(tls=files) as service, service.client(controller) as old:
        assert old.hello().host == "host"
        before = ssl.get_server_certificate(("127.0.0.1", service.port), timeout=PATIENCE_S)
        put(authority.agent("renewed"), files)
        assert service.tls is not None and service.tls.refresh()
        after = ssl.get_server_certificate(("127.0.0.1", service.port), timeout=PATIENCE_S)
        assert before != after == authority.folder.joinpath("renewed.pem").read_text()
        assert old.hello().host == "host", "a connection of before goes on"
        assert old.lease(1000).epoch == 7, "and proves its certificate again"
        with service.client(controller) as new:
            assert new.hello().host == "host"


def test_a_bad_new_set_leaves_the_old_one_in_force(authority: Authority) -> None:
    files, controller = authority.agent(), authority.controller("controller")
    with Service(tls=files) as service:
        assert service.tls is not None
        other = authority.agent("other")
        files.certificate.write_bytes(other.certificate.read_bytes())
        with pytest.raises(ConfigError, match="key values mismatch"):
            service.tls.refresh()
        assert not service.tls.refresh(), "told once for each change"
        with service.client(controller) as client:
            assert client.hello().host == "host"
        files.key.write_bytes(other.key.read_bytes())
        assert service.tls.refresh(), "the key followed, now they go together"
        with service.client(controller) as client:
            assert client.hello().host == "host"


def test_a_replaced_authority_ends_the_trust_in_old_certificates(authority: Authority) -> None:
    files, controller = authority.agent(), authority.controller("controller")
    other = Authority(authority.folder / "other")
    theirs, new_controller = other.agent(), other.controller("controller")
    with Service(tls=files) as service, service.client(controller) as old:
        old.hello()
        put(theirs, files)
        authority.certificate.write_bytes(other.certificate.read_bytes())
        assert service.tls is not None and service.tls.refresh()
        old.hello()  # the answer says that the connection ends with it
        with pytest.raises(AgentUnreachable):
            old.hello()
        with service.client(new_controller) as new:
            assert new.hello().host == "host"
        wait_for(lambda: "not_allowed" in service.recorded.codes(), "the audit")
