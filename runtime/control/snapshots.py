"""What the controller has learned, in one file beside the journal.

Replaying a journal brings back its last few hundred steps; a snapshot brings back everything, at
once. It counts only for the same version, the same configuration and a step that the journal has:
whatever else is found there is refused in words, and the journal is replayed instead.
"""

import hashlib
import os
import stat
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path

import msgspec

from mpc.controller import ControllerState
from mpc.snapshot import SnapshotRefused, load, save
from mpc.values import ConfigurationSpace
from runtime.config import Config
from runtime.control.journal import StepRecord
from runtime.files import replace_file

NAME = "policy.snapshot"
EVERY_STEPS = 60
LARGEST_BYTES = 256_000_000


class _Header(msgspec.Struct, frozen=True):
    """The first line of the file; the state of the controller follows."""

    version: str
    configuration: str
    step: int
    at_s: float
    """Wall clock of the step's record: another journal may have a step of the same number."""
    digest: str
    """Of the state. A machine that lost power may keep the name of a file and half of it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A controller as it was after the step of one record."""

    step: int
    state: ControllerState


class SnapshotFile:
    """Writes and reads the snapshot of one journal folder."""

    def __init__(self, folder: Path, configuration: str) -> None:
        """`configuration`: its fingerprint."""
        self.path = folder / NAME
        self._configuration = configuration
        self._version = version("foresight-autoscaler")

    def write(self, record: StepRecord, state: ControllerState) -> None:
        """The state after the step of the record. Raises `SnapshotRefused` or `OSError`."""
        payload = save(state)
        header = _Header(
            version=self._version,
            configuration=self._configuration,
            step=record.measurement.step,
            at_s=record.at_s,
            digest=hashlib.sha256(payload).hexdigest(),
        )
        # Not waited for on the disk: a file that did not get there whole is refused by its digest.
        replace_file(self.path, msgspec.json.encode(header) + b"\n" + payload)

    def read(self, records: Sequence[StepRecord]) -> Snapshot | None:
        """The snapshot of one of the records; None where there is no file at all.

        Raises `SnapshotRefused` for one that does not belong here or does not work.
        """
        data = _read(self.path)
        if data is None:
            return None
        line, _, payload = data.partition(b"\n")
        try:
            header = msgspec.json.decode(line, type=_Header)
        except (msgspec.DecodeError, UnicodeDecodeError):
            raise SnapshotRefused("no header") from None
        if header.version != self._version:
            raise SnapshotRefused(f"of version {header.version:.20}, this is {self._version}")
        if header.configuration != self._configuration:
            raise SnapshotRefused("of another configuration")
        if header.digest != hashlib.sha256(payload).hexdigest():
            raise SnapshotRefused("damaged")
        if not any(
            (record.measurement.step, record.at_s) == (header.step, header.at_s)
            for record in records
        ):
            raise SnapshotRefused(f"of step {header.step}, which the journal does not have")
        _try(read_state(payload), records[-1])
        return Snapshot(header.step, read_state(payload))


def fingerprint(config: Config, space: ConfigurationSpace) -> str:
    """Of everything a policy is built from, and of nothing else of the configuration."""
    plain = Config()
    relevant = msgspec.structs.replace(
        config,
        mode=plain.mode,
        spark=plain.spark,
        agents=plain.agents,
        journal=plain.journal,
        web=plain.web,
        schedule=plain.schedule,
    )
    parts = msgspec.to_builtins((relevant, asdict(space)))
    return hashlib.sha256(msgspec.json.encode(parts, order="sorted")).hexdigest()


def read_state(payload: bytes) -> ControllerState:
    """Raises `SnapshotRefused`."""
    state = load(payload)
    if not isinstance(state, ControllerState):
        raise SnapshotRefused(f"of {type(state).__name__}, not of a controller")
    return state


def _try(state: ControllerState, record: StepRecord) -> None:
    """Whether its policy decides; it is not used afterwards."""
    try:
        state.policy.decide(record.measurement, record.bounds)
    except Exception as error:
        raise SnapshotRefused(f"its policy fails: {type(error).__name__}: {error}") from error


def _read(path: Path) -> bytes | None:
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except FileNotFoundError:
        return None
    except OSError as error:
        raise SnapshotRefused(error.strerror or str(error)) from error
    try:
        found = os.fstat(descriptor)
        if not stat.S_ISREG(found.st_mode):
            raise SnapshotRefused("not a file")
        if found.st_uid != os.geteuid() or found.st_mode & stat.S_IWOTH:
            raise SnapshotRefused("not this user's own")
        if found.st_size > LARGEST_BYTES:
            raise SnapshotRefused(f"{found.st_size} bytes, at most {LARGEST_BYTES}")
        with os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read()
    finally:
        os.close(descriptor)
