import errno
import threading
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.tree import FolderTree

POLLED = "/policy0/scaling_max_freq"


def open_below(root: Path) -> list[str]:
    """The files below a folder that this process holds open, removed ones too."""
    places = [link.readlink() for link in Path("/proc/self/fd").iterdir() if link.is_symlink()]
    return sorted(str(place) for place in places if str(place).startswith(str(root)))


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "policy0").mkdir()
    (tmp_path / "policy0/scaling_max_freq").write_text("2400000\n")
    (tmp_path / "policy0/scaling_driver").write_text("acpi-cpufreq\n")
    return tmp_path


def test_reads_a_file_as_it_is(root: Path) -> None:
    assert FolderTree(root).read("/policy0/scaling_driver") == "acpi-cpufreq\n"


@pytest.mark.parametrize("path", [POLLED, "/policy0/scaling_driver"])
def test_every_read_is_fresh(root: Path, path: str) -> None:
    tree = FolderTree(root)
    for text in ("1\n", "2000000\n", "3\n"):
        (root / path[1:]).write_text(text)
        assert tree.read(path) == text
        assert tree.read(path) == text


def test_a_polled_file_that_was_replaced_is_found_again(root: Path) -> None:
    tree = FolderTree(root)
    tree.read(POLLED)
    (root / "fresh").write_text("1800000\n")
    (root / "fresh").rename(root / POLLED[1:])
    assert tree.read(POLLED) == "1800000\n"


def test_a_polled_file_that_goes_and_comes_back(root: Path) -> None:
    tree = FolderTree(root)
    tree.read(POLLED)
    (root / POLLED[1:]).unlink()
    for _ in range(2):
        with pytest.raises(FileNotFoundError):
            tree.read(POLLED)
    (root / POLLED[1:]).write_text("1500000\n")
    assert tree.read(POLLED) == "1500000\n"


def test_only_polled_files_stay_open_until_the_tree_goes(root: Path) -> None:
    tree = FolderTree(root)
    for _ in range(3):
        tree.read(POLLED)
        tree.read("/policy0/scaling_driver")
    assert open_below(root) == [str(root / POLLED[1:])]
    tree.close()
    assert open_below(root) == []
    assert tree.read(POLLED) == "2400000\n"
    del tree
    assert open_below(root) == []


def test_the_number_of_open_files_is_bounded(root: Path) -> None:
    tree = FolderTree(root)
    for number in range(600):
        folder = root / f"zone{number}"
        folder.mkdir()
        (folder / "energy_uj").write_text(f"{number}\n")
        assert tree.read(f"/zone{number}/energy_uj") == f"{number}\n"
    assert len(open_below(root)) == 512
    assert tree.read("/zone599/energy_uj") == "599\n"


def test_threads_may_read_and_close_at_the_same_time(root: Path) -> None:
    tree = FolderTree(root)
    failures: list[str] = []

    def poll() -> None:
        for _ in range(300):
            if tree.read(POLLED) != "2400000\n":
                failures.append("wrong text")
            tree.close()

    threads = [threading.Thread(target=poll) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.parametrize("path", ["/policy0/energy_uj", "/nowhere/at_all", "/policy0"])
def test_what_cannot_be_read_is_an_oserror(root: Path, path: str) -> None:
    with pytest.raises(OSError, match=r"No such file|Is a directory"):
        FolderTree(root).read(path)


def test_a_missing_file_is_not_created(root: Path) -> None:
    with pytest.raises(FileNotFoundError):
        FolderTree(root).write("/policy0/scaling_min_freq", "1200000")
    assert not (root / "policy0/scaling_min_freq").exists()


@given(st.lists(st.text("0123456789", min_size=1, max_size=12), min_size=1, max_size=5))
def test_a_write_replaces_the_whole_value(
    tmp_path_factory: pytest.TempPathFactory, values: list[str]
) -> None:
    root = tmp_path_factory.mktemp("tree")
    (root / "scaling_max_freq").write_text("123456789012345\n")
    tree = FolderTree(root)
    for value in values:
        tree.write("/scaling_max_freq", value)
        assert tree.read("/scaling_max_freq") == value


def test_text_that_is_not_ascii_is_refused_as_the_kernel_refuses_it(root: Path) -> None:
    with pytest.raises(OSError, match="not ASCII") as caught:
        FolderTree(root).write(POLLED, "\ufffd")
    assert caught.value.errno == errno.EINVAL
    assert (root / POLLED[1:]).read_text() == "2400000\n"


def test_bytes_that_are_not_ascii_do_not_stop_a_read(root: Path) -> None:
    (root / POLLED[1:]).write_bytes(b"\xff\xfe12\n")
    assert FolderTree(root).read(POLLED) == "\ufffd\ufffd12\n"


def test_names_and_modes(root: Path) -> None:
    tree = FolderTree(root)
    (root / POLLED[1:]).chmod(0o400)
    assert tree.names("/policy0") == ("scaling_driver", "scaling_max_freq")
    assert tree.names("/policy9") == ()
    assert tree.names(POLLED) == ()
    assert tree.mode(POLLED) == 0o400
    assert tree.mode("/policy9") is None
