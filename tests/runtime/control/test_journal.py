"""What is journaled reads back exactly, whatever happens to the file."""

import os
from dataclasses import fields, is_dataclass
from pathlib import Path

import msgspec
import numpy as np
import pytest
from hypothesis import given

from runtime.control.journal import (
    JournalInUse,
    StepJournal,
    StepRecord,
    decode,
    encode,
    read,
    recent,
)
from tests.runtime.control.records import plain_record, records


def same(one: object, other: object) -> bool:
    """Equal to the last bit: types, zeros with their signs, arrays with their element types."""
    if type(one) is not type(other):
        return False
    if isinstance(one, np.ndarray) and isinstance(other, np.ndarray):
        return one.dtype == other.dtype and np.array_equal(
            one, other, equal_nan=one.dtype.kind == "f"
        )
    if is_dataclass(one):
        return all(same(getattr(one, f.name), getattr(other, f.name)) for f in fields(one))
    if isinstance(one, tuple) and isinstance(other, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    if isinstance(one, float):
        return repr(one) == repr(other)
    return bool(one == other)


@given(record=records)
def test_a_record_reads_back_exactly(record: StepRecord) -> None:
    line = encode(record)
    assert b"\n" not in line
    assert same(decode(line), record)


def test_a_journal_of_before_reads_without_what_it_lacks() -> None:
    document = msgspec.json.decode(encode(plain_record(3)))
    del document["decision"]["alternatives"], document["decision"]["cooling_down"]
    del document["resumption"]
    back = decode(msgspec.json.encode(document))
    assert same(back, plain_record(3))


def test_numbers_of_numpy_are_numbers(tmp_path: Path) -> None:
    record = plain_record(3)
    object.__setattr__(record.measurement, "arrivals_per_s", np.float64(2.5))
    object.__setattr__(record.measurement, "step", np.int64(7))
    back = decode(encode(record))
    assert (back.measurement.arrivals_per_s, back.measurement.step) == (2.5, 7)


def test_lines_are_there_before_the_journal_is_closed(tmp_path: Path) -> None:
    with StepJournal(tmp_path / "new" / "folder", 10_000) as journal:
        for step in range(3):
            journal.append(plain_record(step))
        steps = [record.measurement.step for record in read(tmp_path / "new" / "folder")]
        assert steps == [0, 1, 2]
        assert [record.measurement.step for record in journal.recent(2)] == [1, 2]
        assert journal.recent(0) == ()


def test_a_journal_goes_on_where_it_ended(tmp_path: Path) -> None:
    for begin in (0, 3):
        with StepJournal(tmp_path, 10_000) as journal:
            for step in range(begin, begin + 3):
                journal.append(plain_record(step))
    assert [record.measurement.step for record in read(tmp_path)] == list(range(6))


def test_torn_and_foreign_lines_are_passed_over(tmp_path: Path) -> None:
    with StepJournal(tmp_path, 10_000) as journal:
        journal.append(plain_record(0))
    with journal.path.open("ab") as file:
        file.write(b'{"other": 1}\nnot json\n' + encode(plain_record(1))[:50])
    with StepJournal(tmp_path, 10_000) as journal:
        journal.append(plain_record(2))
        assert [record.measurement.step for record in journal.recent(9)] == [0, 2]


def test_its_size_is_bounded_and_the_newest_are_kept(tmp_path: Path) -> None:
    line = len(encode(plain_record(10))) + 1
    with StepJournal(tmp_path, 5 * line) as journal:
        for step in range(10, 50):
            journal.append(plain_record(step))
            assert all(path.stat().st_size <= 5 * line for path in tmp_path.glob("*.jsonl"))
    steps = [record.measurement.step for record in read(tmp_path)]
    assert steps == list(range(steps[0], 50))
    assert 5 <= len(steps) <= 10


def test_a_line_larger_than_the_file_is_written_all_the_same(tmp_path: Path) -> None:
    with StepJournal(tmp_path, 10) as journal:
        journal.append(plain_record(0))
        journal.append(plain_record(1))
    assert [record.measurement.step for record in read(tmp_path)] == [0, 1]


def test_two_controllers_do_not_share_a_journal(tmp_path: Path) -> None:
    with StepJournal(tmp_path, 10_000) as journal:
        with pytest.raises(JournalInUse, match=r"another journal\.folder"):
            StepJournal(tmp_path, 10_000)
        journal.append(plain_record(0))
    StepJournal(tmp_path, 10_000).close()


def test_half_a_line_is_taken_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a full disk, where the kernel takes only a part."""
    write = os.write
    with StepJournal(tmp_path, 10_000) as journal:
        journal.append(plain_record(0))
        with monkeypatch.context() as patch:
            patch.setattr(os, "write", lambda file, data: write(file, data[:20]))
            with pytest.raises(OSError, match="whole line"):
                journal.append(plain_record(1))
        journal.append(plain_record(2))
    assert [record.measurement.step for record in recent(tmp_path, 9)] == [0, 2]
