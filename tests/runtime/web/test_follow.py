"""Reading a journal beside its writer."""

from pathlib import Path

import pytest

from runtime.control.journal import NAME, OLDER_NAME, StepJournal, encode
from runtime.insight.journals import NoJournal, journal_folder
from runtime.metrics.facts import facts_in
from runtime.web.follow import JournalTail
from tests.runtime.control.records import plain_record


def steps(tail: JournalTail) -> list[int]:
    return [record.measurement.step for record in tail.poll()]


def test_new_lines_come_once_and_half_a_line_waits(tmp_path: Path) -> None:
    tail = JournalTail(tmp_path)
    assert steps(tail) == []
    with StepJournal(tmp_path, 1_000_000) as journal:
        for step in range(3):
            journal.append(plain_record(step))
        assert steps(tail) == [0, 1, 2]
        assert steps(tail) == []
        line = encode(plain_record(3)) + b"\n"
        with (tmp_path / NAME).open("ab") as file:
            file.write(line[:20])
            file.flush()
            assert steps(tail) == []
            file.write(line[20:])
        assert steps(tail) == [3]


def test_files_that_change_lose_no_record(tmp_path: Path) -> None:
    size = len(encode(plain_record(10))) + 10
    tail = JournalTail(tmp_path)
    seen: list[int] = []
    with StepJournal(tmp_path, 7 * size) as journal:
        for step in range(40):
            journal.append(plain_record(step))
            if step % 3 == 0:
                seen += steps(tail)
    seen += steps(tail)
    assert (tmp_path / OLDER_NAME).exists()
    assert seen == list(range(40))


def test_the_first_look_may_be_short(tmp_path: Path) -> None:
    with StepJournal(tmp_path, 1_000_000) as journal:
        for step in range(9):
            journal.append(plain_record(step))
        tail = JournalTail(tmp_path, first=2)
        assert steps(tail) == [7, 8]
        for step in range(9, 14):
            journal.append(plain_record(step))
        assert steps(tail) == [9, 10, 11, 12, 13]


def test_lines_that_are_no_records_are_passed_over(tmp_path: Path) -> None:
    (tmp_path / NAME).write_bytes(b"torn\n" + encode(plain_record(1)) + b"\n{}\n")
    assert steps(JournalTail(tmp_path)) == [1]


def test_the_folder_of_one_application_is_found(tmp_path: Path) -> None:
    with pytest.raises(NoJournal, match="has no journal"):
        journal_folder(tmp_path)
    with pytest.raises(NoJournal, match="no journal folder"):
        journal_folder(tmp_path / "nowhere")
    with StepJournal(tmp_path / "orders", 1000):
        pass
    assert journal_folder(tmp_path) == tmp_path / "orders"
    assert journal_folder(tmp_path / "orders" / NAME) == tmp_path / "orders"
    with StepJournal(tmp_path / "trades", 1000):
        pass
    with pytest.raises(NoJournal, match=r"orders, .*trades"):
        journal_folder(tmp_path)
    assert journal_folder(tmp_path / "trades") == tmp_path / "trades"


def test_facts_come_from_the_start_beside_the_journal(journal: Path, tmp_path: Path) -> None:
    facts = facts_in(journal)
    assert (facts.application, facts.target_latency_s, facts.step_s) == ("orders", 1.5, 1.0)
    assert facts_in(tmp_path / "nothing").target_latency_s is None
