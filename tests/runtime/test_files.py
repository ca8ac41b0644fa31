import os
import stat
from pathlib import Path

import pytest

from runtime.files import replace_file


@pytest.mark.parametrize("durable", [False, True])
def test_a_file_is_replaced_with_its_mode_and_nothing_is_left_beside_it(
    tmp_path: Path, durable: bool
) -> None:
    path = tmp_path / "state"
    path.write_text("old")
    mask = os.umask(0o077)
    try:
        replace_file(path, b"new", mode=0o644, durable=durable)
    finally:
        os.umask(mask)
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o644
    assert list(tmp_path.iterdir()) == [path]


def test_what_a_crash_left_is_never_written_through(tmp_path: Path) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.write_text("somebody's")
    (tmp_path / "state.new").symlink_to(elsewhere)
    replace_file(tmp_path / "state", b"new")
    assert elsewhere.read_text() == "somebody's"
    assert (tmp_path / "state").read_text() == "new"
    assert not (tmp_path / "state").is_symlink()


def test_a_replacement_that_fails_leaves_the_old_content(tmp_path: Path) -> None:
    path = tmp_path / "state"
    path.write_text("old")
    (tmp_path / "state.new").mkdir()
    with pytest.raises(OSError, match="directory"):
        replace_file(path, b"new")
    assert path.read_text() == "old"
