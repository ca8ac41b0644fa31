"""The answers to single requests, without a kernel: what cannot be provoked through a mount."""

import errno
import os
from pathlib import Path
from struct import Struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.tree import FolderTree
from tests.support.fuse import protocol as p
from tests.support.fuse.filesystem import REFUSED, FileSystem, Request
from tests.support.fuse.protocol import ROOT_ID, Operation


def ask(
    files: FileSystem, operation: Operation, body: bytes = b"", node_id: int = ROOT_ID, uid: int = 0
) -> bytes:
    request = Request()
    request.node_id, request.uid, request.body = node_id, uid, memoryview(body)
    answer = files.operations[operation](request)
    assert answer is not None
    return answer


def look_up(files: FileSystem, name: str, node_id: int = ROOT_ID) -> int:
    answer = ask(files, Operation.LOOKUP, os.fsencode(name) + b"\0", node_id)
    found: int = p.ENTRY_OUT.unpack_from(answer)[0]
    return found


def open_file(files: FileSystem, node_id: int, flags: int, uid: int = 0) -> int:
    answer = ask(files, Operation.OPEN, p.OPEN_IN.pack(flags, 0), node_id, uid)
    handle: int = p.OPEN_OUT.unpack_from(answer)[0]
    return handle


def listing(files: FileSystem, node_id: int, size: int) -> list[tuple[str, int]]:
    """All entries with their types, fetched in pieces of at most `size` bytes."""
    opened = ask(files, Operation.OPENDIR, p.OPEN_IN.pack(0, 0), node_id)
    handle = p.OPEN_OUT.unpack_from(opened)[0]
    found: list[tuple[str, int]] = []
    offset = 0
    while piece := ask(files, Operation.READDIR, p.READ_IN.pack(handle, offset, size), node_id):
        assert len(piece) <= size
        at = 0
        while at < len(piece):
            _, offset, length, kind = p.DIRENT.unpack_from(piece, at)
            at += p.DIRENT.size
            found.append((os.fsdecode(piece[at : at + length]), kind))
            at += length + -(p.DIRENT.size + length) % 8
    return found


@pytest.fixture
def files(tmp_path: Path) -> FileSystem:
    folder = tmp_path / "sys" / "empty"
    folder.mkdir(parents=True)
    value = tmp_path / "sys" / "value"
    value.write_text("1200000\n")
    value.chmod(0o644)
    return FileSystem(FolderTree(tmp_path))


@pytest.mark.parametrize(
    ("layout", "size"),
    [
        # The sizes that linux/fuse.h gives.
        (p.IN_HEADER, 40),
        (p.OUT_HEADER, 16),
        (p.INIT_OUT, 64),
        (p.ATTRIBUTES, 88),
        (p.ATTR_OUT, 104 - 88),
        (p.ENTRY_OUT, 128 - 88),
        (p.OPEN_OUT, 16),
        (p.WRITE_IN, 40),
        (p.WRITE_OUT, 8),
        (p.STATFS_OUT, 80),
        (p.FORGET_ONE, 16),
        (p.DIRENT, 24),
    ],
)
def test_structures_have_the_sizes_of_the_kernel(layout: Struct, size: int) -> None:
    assert layout.size == size


def test_init_settles_on_the_version_and_only_on_flags_that_were_offered(files: FileSystem) -> None:
    answer = ask(files, Operation.INIT, p.INIT_IN.pack(7, 45, 131_072, p.BIG_WRITES))
    major, minor, _, flags, *_ = p.INIT_OUT.unpack(answer)
    assert (major, minor, flags) == (7, 31, p.BIG_WRITES)


def test_init_refuses_a_kernel_that_is_too_old(files: FileSystem) -> None:
    with pytest.raises(OSError, match=r"7\.31 is needed"):
        ask(files, Operation.INIT, p.INIT_IN.pack(7, 12, 0, 0))


@given(st.integers(300, 5_000))
def test_a_folder_is_listed_whole_whatever_the_size_of_the_pieces(size: int) -> None:
    class Many:
        def names(self, path: str) -> tuple[str, ...]:
            return tuple("x" * n for n in range(1, 200))

        def mode(self, path: str) -> int:
            return 0o755 if path == "/" else 0o444

        def read(self, path: str) -> str:
            return path

        def write(self, path: str, text: str) -> None: ...

    expected = [(".", p.FOLDER_ENTRY), ("..", p.FOLDER_ENTRY)]
    expected += [("x" * n, p.FILE_ENTRY) for n in range(1, 200)]
    assert listing(FileSystem(Many()), ROOT_ID, size) == expected


def test_an_empty_folder_is_a_folder(files: FileSystem) -> None:
    inside = look_up(files, "sys")
    assert listing(files, inside, 4096)[2:] == [("empty", p.FOLDER_ENTRY), ("value", p.FILE_ENTRY)]
    assert len(listing(files, look_up(files, "empty", inside), 4096)) == 2


def test_a_name_of_a_folder_is_kept_and_the_name_of_a_file_is_not(files: FileSystem) -> None:
    entry = ask(files, Operation.LOOKUP, b"sys\0")
    assert p.ENTRY_OUT.unpack_from(entry)[2] > 0
    value = ask(files, Operation.LOOKUP, b"value\0", p.ENTRY_OUT.unpack_from(entry)[0])
    assert p.ENTRY_OUT.unpack_from(value)[2] == 0


def test_a_folder_that_went_is_missing_although_its_name_was_kept(
    files: FileSystem, tmp_path: Path
) -> None:
    empty = look_up(files, "empty", look_up(files, "sys"))
    (tmp_path / "sys" / "empty").rmdir()
    for operation in (Operation.GETATTR, Operation.OPENDIR):
        with pytest.raises(FileNotFoundError):
            ask(files, operation, bytes(16), empty)


def test_others_open_only_what_their_bits_allow(files: FileSystem) -> None:
    value = look_up(files, "value", look_up(files, "sys"))
    open_file(files, value, os.O_RDONLY, uid=1000)
    open_file(files, value, os.O_RDWR)
    for flags in (os.O_WRONLY, os.O_RDWR):
        with pytest.raises(PermissionError):
            open_file(files, value, flags, uid=1000)


def test_forgotten_nodes_are_gone(files: FileSystem) -> None:
    inside = look_up(files, "sys")
    value = look_up(files, "value", inside)
    request = Request()
    body = p.BATCH_FORGET_IN.pack(2, 0) + p.FORGET_ONE.pack(value, 1) + p.FORGET_ONE.pack(inside, 1)
    request.body = memoryview(body)
    assert files.operations[Operation.BATCH_FORGET](request) is None
    with pytest.raises(KeyError):
        ask(files, Operation.GETATTR, bytes(16), value)


def test_an_interrupt_has_no_answer(files: FileSystem) -> None:
    assert files.operations[Operation.INTERRUPT](Request()) is None


def test_every_operation_is_served_refused_or_left_to_the_kernel(files: FileSystem) -> None:
    assert not REFUSED.keys() & files.operations.keys()
    left = set(Operation) - REFUSED.keys() - files.operations.keys()
    assert left == {Operation.FLUSH}
    assert set(REFUSED.values()) == {errno.EPERM, errno.EACCES}
