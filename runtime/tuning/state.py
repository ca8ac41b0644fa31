"""What has been simulated so far, in one file, so that an interrupted tuning goes on.

Replaced as a whole after every outcome: whoever kills the process finds the file before or after.
"""

from pathlib import Path

import msgspec

from runtime.files import replace_file
from runtime.tuning.outcome import TuningOutcome


class _Contents(msgspec.Struct):
    fingerprint: str
    outcomes: dict[str, TuningOutcome]


class TuningState:
    """Outcomes by name. A file of another task is not overwritten but refused."""

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        """Without a path nothing outlives the process."""
        self._path = path
        self._contents = _Contents(fingerprint, {})
        if path is not None and path.exists():
            self._contents = self._read(path, fingerprint)

    @property
    def known(self) -> int:
        return len(self._contents.outcomes)

    def get(self, key: str) -> TuningOutcome | None:
        return self._contents.outcomes.get(key)

    def put(self, key: str, outcome: TuningOutcome) -> None:
        """Raises `OSError` where it cannot be written."""
        self._contents.outcomes[key] = outcome
        if self._path is not None:
            replace_file(self._path, msgspec.json.encode(self._contents), mode=0o644)

    @staticmethod
    def _read(path: Path, fingerprint: str) -> _Contents:
        try:
            contents = msgspec.json.decode(path.read_bytes(), type=_Contents)
        except msgspec.DecodeError as error:
            raise ValueError(f"{path}: not the state of a tuning: {error}") from None
        if contents.fingerprint != fingerprint:
            raise ValueError(
                f"{path}: state of a tuning with another trace, configuration or seed; "
                "name another --state file or remove this one"
            )
        return contents
