"""A real executor leaves a class-data archive behind, whole."""

from pathlib import Path

import pytest

from runtime.spark.launching.archive import find_archive, make_archive
from runtime.spark.launching.local_cluster import why_unavailable

pytestmark = pytest.mark.spark


def test_it_is_made_once(tmp_path: Path) -> None:
    missing = why_unavailable()
    if missing is not None:
        pytest.skip(missing)
    made = make_archive(tmp_path)
    assert made.reason is None
    assert find_archive(tmp_path) == made
    (path,) = tmp_path.iterdir()
    assert f"-XX:SharedArchiveFile={path}" in str(made.java_options)
    assert path.stat().st_size > 10_000_000
