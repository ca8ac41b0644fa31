"""Finds the journal that somebody means, and reads it with what its controller ran with."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from runtime.control.journal import NAME, OLDER_NAME, StepRecord, read_lines
from runtime.control.starts import Start, read_starts, start_of
from runtime.report.text import clock


class NoJournal(ValueError):
    """Says what is there instead."""


@dataclass(frozen=True, slots=True)
class RecordedRun:
    """Everything a journal folder holds, oldest first."""

    folder: Path
    records: tuple[StepRecord, ...]
    """At least one."""
    torn_lines: int
    """Lines that are no record: half written, or of something else."""
    starts: tuple[Start, ...]

    def start(self, record: StepRecord) -> Start | None:
        """What the controller ran with at that record; None where nobody noted it."""
        return start_of(self.starts, record.at_s)

    @property
    def about(self) -> str:
        """One line for people."""
        first, last = self.records[0], self.records[-1]
        words = (
            f"{self.folder}: {len(self.records):,} steps, {clock(first.at_s)} to {clock(last.at_s)}"
        )
        return f"{words}, {self.torn_lines} torn lines passed over" if self.torn_lines else words


def recorded_run(where: Path) -> RecordedRun:
    """The journal at a folder, or the only one below it. Raises `NoJournal` or `OSError`."""
    folder = journal_folder(where)
    lines = list(read_lines(folder))
    records = tuple(record for record in lines if record is not None)
    torn = len(lines) - len(records)
    if not records:
        found = f"{torn} lines and none of them a record" if torn else "no step yet"
        raise NoJournal(f"the journal {folder} has {found}")
    return RecordedRun(folder, records, torn, tuple(read_starts(folder)))


def journal_folder(where: Path) -> Path:
    """The folder itself, that of a journal file, or the only one with a journal below."""
    if where.is_file() and where.name in (NAME, OLDER_NAME):
        return where.parent
    if not where.is_dir():
        raise NoJournal(f"there is no journal folder {where}")
    if _is_journal(where):
        return where
    below = sorted(folder for folder in where.iterdir() if folder.is_dir() and _is_journal(folder))
    if len(below) == 1:
        return below[0]
    if below:
        names = ", ".join(str(folder) for folder in below)
        raise NoJournal(f"{where} has {len(below)} journals, choose one: {names}")
    raise NoJournal(f"{where} has no journal: neither {NAME} nor a folder with one")


def record_of_step(records: Sequence[StepRecord], step: int | None) -> int:
    """Position of the last record of a step; None: of the last step."""
    if step is None:
        return len(records) - 1
    steps = [record.measurement.step for record in records]
    if step not in steps:
        raise NoJournal(f"the journal has no step {step}; it has {steps[0]} to {steps[-1]}")
    return len(steps) - 1 - steps[::-1].index(step)


def record_at(records: Sequence[StepRecord], text: str) -> int:
    """Position of the record in force at a time: `17:03`, `2026-11-16 17:03:10` or seconds."""
    at_s = _seconds(text, records[-1].at_s)
    before = [position for position, record in enumerate(records) if record.at_s <= at_s]
    if not before:
        raise NoJournal(f"the journal begins after {text}, at {clock(records[0].at_s)}")
    return before[-1]


def _seconds(text: str, newest_s: float) -> float:
    """A time of day is that of the newest record's day, or of the day before if that is later."""
    try:
        return float(text)
    except ValueError:
        pass
    newest = datetime.fromtimestamp(newest_s)
    try:
        if "-" in text:
            return datetime.fromisoformat(text).timestamp()
        time = datetime.strptime(text, "%H:%M:%S" if text.count(":") == 2 else "%H:%M").time()
    except ValueError:
        raise ValueError(
            f"not a time: {text!r}; write 17:03, 17:03:10, 2026-11-16T17:03 or seconds since 1970"
        ) from None
    at_s = datetime.combine(newest.date(), time).timestamp()
    return at_s if at_s <= newest_s else at_s - 86_400.0


def _is_journal(folder: Path) -> bool:
    return (folder / NAME).is_file() or (folder / OLDER_NAME).is_file()
