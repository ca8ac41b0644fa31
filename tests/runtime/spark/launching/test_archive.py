"""The class-data archive: found, refused or given up with a reason; no JVM here."""

from pathlib import Path

import pytest

from runtime.spark.launching.archive import archive_name, cache_folder, find_archive, make_archive
from tests.runtime.spark import fake_java


@pytest.fixture(autouse=True)
def java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("JAVA_HOME", str(fake_java.install(tmp_path / "java")))
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)


def test_there_is_none_before_it_was_made(tmp_path: Path) -> None:
    found = find_archive(tmp_path / "cache")
    assert found.java_options is None
    assert "yet" in str(found.reason)


def test_one_that_is_there_is_used(tmp_path: Path) -> None:
    reason = find_archive(tmp_path).reason
    assert reason is not None
    path = Path(reason.split(" at ")[1].removesuffix(" yet"))
    path.write_bytes(b"")
    for archive in (find_archive(tmp_path), make_archive(tmp_path)):
        assert archive.reason is None
        assert archive.java_options == f"-XX:SharedArchiveFile={path} -Xshare:auto"


def test_another_java_has_another_archive() -> None:
    java, home = Path("/usr/bin/java"), Path("/opt/pyspark")
    name = archive_name("17.0.1", java, home)
    assert name == archive_name("17.0.1", java, home)
    others = {
        archive_name("17.0.2", java, home),
        archive_name("17.0.1", Path("/opt/java"), home),
        archive_name("17.0.1", java, Path("/srv/pyspark")),
    }
    assert len(others | {name}) == 4


def test_a_configuration_folder_with_files_is_a_reason(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    assert "class path" in str(find_archive(tmp_path).reason)


def test_no_java_is_a_reason(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nothing"))
    assert "install a JRE" in str(make_archive(tmp_path).reason)


def test_a_failure_is_a_reason_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(fake_java.FAILS, "Master")
    cache = tmp_path / "cache"
    made = make_archive(cache)
    assert made.java_options is None
    assert "master ended" in str(made.reason)
    assert list(cache.iterdir()) == []


def test_the_cache_is_the_users(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert cache_folder() == tmp_path / "foresight"
