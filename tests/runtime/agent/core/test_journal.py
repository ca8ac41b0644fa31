import os
import stat
import zlib
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from energy.cpufreq.originals import Original, Written
from runtime.agent.core.journal import OriginalsEntry, OriginalsJournal
from runtime.agent.core.state import (
    JournalCorrupt,
    JournalUnavailable,
    StateLock,
    StateLocked,
    UnsafePath,
)

ENTRY = OriginalsEntry(
    Original("policy0", 2_400_000, 1_200_000, 2_400_000, at_highest=True),
    Written(max_khz=(1_500_000, 1_600_000)),
)


@pytest.fixture
def lock(tmp_path: Path) -> Iterator[StateLock]:
    with StateLock(tmp_path / "state") as lock:
        yield lock


@pytest.fixture
def journal(lock: StateLock) -> OriginalsJournal:
    return OriginalsJournal(lock, "boot")


def test_what_was_saved_is_loaded(journal: OriginalsJournal, lock: StateLock) -> None:
    journal.save(7, {"policy0": ENTRY})
    recorded = OriginalsJournal(lock, "boot").load()
    assert (recorded.epoch, recorded.entries, recorded.void) == (7, {"policy0": ENTRY}, 0)


def test_without_a_file_there_is_nothing_to_restore(journal: OriginalsJournal) -> None:
    recorded = journal.load()
    assert (recorded.epoch, recorded.entries) == (None, {})


def test_after_a_reboot_the_entries_are_void_but_the_epoch_goes_on(
    journal: OriginalsJournal, lock: StateLock
) -> None:
    journal.save(7, {"policy0": ENTRY})
    recorded = OriginalsJournal(lock, "next boot").load()
    assert (recorded.epoch, recorded.entries, recorded.void) == (7, {}, 1)


def test_the_file_is_for_its_owner_alone_and_nothing_else_is_left(
    journal: OriginalsJournal,
) -> None:
    before = os.umask(0)
    try:
        journal.save(1, {})
    finally:
        os.umask(before)
    assert stat.S_IMODE(journal.path.stat().st_mode) == 0o600
    assert sorted(path.name for path in journal.path.parent.iterdir()) == [
        "agent.lock",
        "journal.json",
    ]


def test_a_save_cut_off_leaves_the_one_before(journal: OriginalsJournal) -> None:
    journal.save(7, {"policy0": ENTRY})
    journal.path.with_name("journal.json.new").write_bytes(b'{"version": 1, "boo')
    assert journal.load().epoch == 7
    journal.save(8, {})
    assert journal.load().epoch == 8


def test_a_save_that_fails_says_so_and_leaves_the_one_before(journal: OriginalsJournal) -> None:
    journal.save(7, {})
    journal.path.with_name("journal.json.new").mkdir()
    with pytest.raises(JournalUnavailable, match="unavailable"):
        journal.save(8, {})
    assert journal.load().epoch == 7


@pytest.mark.parametrize(
    "text",
    [
        "",
        "nonsense",
        "{}",
        '{"version": 2, "boot_id": "boot", "epoch": 1, "entries": {}}',
        '{"version": 1, "boot_id": "boot", "epoch": -1, "entries": {}}',
        '{"version": 1, "boot_id": "boot", "epoch": 1, "entries": {"../../x": {}}}',
        '{"version": 1, "boot_id": "boot", "epoch": 1, "entries": {"policy0": {}}}',
        '{"version": 1, "boot_id": "boot", "epoch": 1, "entries": {}, "more": 1}',
        "[" * 100_000,
    ],
)
def test_what_is_no_journal_is_called_corrupt_and_kept(
    journal: OriginalsJournal, text: str
) -> None:
    text += f"\n{zlib.crc32(text.encode()):08x}\n"
    journal.path.write_text(text)
    journal.path.chmod(0o600)
    with pytest.raises(JournalCorrupt, match="remove the file"):
        journal.load()
    assert journal.path.read_text() == text


def test_an_entry_under_the_name_of_another_policy_is_corrupt(journal: OriginalsJournal) -> None:
    journal.save(1, {"policy0": ENTRY})
    text = journal.path.read_text().splitlines()[0].replace('{"policy0":', '{"policy1":')
    journal.path.write_text(f"{text}\n{zlib.crc32(text.encode()):08x}\n")
    with pytest.raises(JournalCorrupt, match="another policy"):
        journal.load()


@given(st.binary(min_size=1, max_size=8), st.integers(0, 300), st.integers(0, 8))
def test_any_damage_is_noticed(damage: bytes, at: int, removed: int) -> None:
    with TemporaryDirectory() as folder, StateLock(Path(folder)) as lock:
        journal = OriginalsJournal(lock, "boot")
        journal.save(7, {"policy0": ENTRY})
        data = journal.path.read_bytes()
        damaged = data[:at] + damage + data[at + removed :]
        assume(damaged != data)
        journal.path.write_bytes(damaged)
        with pytest.raises(JournalCorrupt):
            journal.load()


def test_a_folder_or_file_that_others_can_write_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "open"
    folder.mkdir()
    folder.chmod(0o770)
    with pytest.raises(UnsafePath, match="mode 0770, must be writable by its owner alone"):
        StateLock(folder)
    folder.chmod(0o700)
    with StateLock(folder) as lock:
        journal = OriginalsJournal(lock, "boot")
        journal.save(1, {})
        journal.path.chmod(0o602)
        with pytest.raises(UnsafePath, match="0602"):
            journal.load()


def test_links_in_place_of_files_are_refused(journal: OriginalsJournal, tmp_path: Path) -> None:
    journal.path.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UnsafePath, match="plain file"):
        journal.load()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder away")
def test_a_folder_of_another_user_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "theirs"
    folder.mkdir(mode=0o700)
    os.chown(folder, 12345, 12345)
    with pytest.raises(UnsafePath, match="owned by user 12345"):
        StateLock(folder)


def test_only_one_process_holds_the_lock_and_the_other_is_told_which(tmp_path: Path) -> None:
    with StateLock(tmp_path):
        with pytest.raises(StateLocked, match=f"process {os.getpid()}") as locked:
            StateLock(tmp_path)
        assert locked.value.pid == os.getpid()
    with StateLock(tmp_path):
        pass


def test_a_folder_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(UnsafePath, match="must be a folder"):
        StateLock(tmp_path / "file")
