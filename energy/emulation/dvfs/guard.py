"""The owner's side of the guardian: start it, tell it, let it go."""

import json
import os
import subprocess
import sys
import threading
from pathlib import Path

from energy.emulation.dvfs.ledger import Message, ThrottleLedger
from energy.processes import find_process

_PACKAGES = str(Path(__file__).parents[3])
_CLOSING_S = 30.0


class GuardianLink:
    """Tells a guardian process what is held; the guardian starts with the first message.

    A message is in the pipe when `tell` returns, and the pipe outlives its writer: there is
    nothing to wait for. A guardian that was killed is replaced at the next message or `keep`.
    """

    def __init__(self) -> None:
        self._ledger = ThrottleLedger()
        self._guardian: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    @property
    def pid(self) -> int | None:
        """The guardian's; None while there is nothing to guard."""
        return None if self._guardian is None else self._guardian.pid

    def send(self, message: Message) -> None:
        with self._lock:
            self._ledger.note(message)
            if self._guardian is not None:
                try:
                    self._write(self._guardian, message)
                except BrokenPipeError:
                    self._end(self._guardian)
                else:
                    return
            self._guardian = self._start()

    def keep(self) -> None:
        """Replace the guardian if it was killed; for calling now and then."""
        with self._lock:
            if self._guardian is not None and self._guardian.poll() is not None:
                self._end(self._guardian)
                self._guardian = self._start()

    def close(self) -> None:
        """Whatever is still held is released by the guardian now."""
        with self._lock:
            if self._guardian is not None:
                self._end(self._guardian)
                self._guardian = None

    def _start(self) -> subprocess.Popen[bytes]:
        owner = find_process(os.getpid())
        if owner is None:
            raise FileNotFoundError("/proc does not show this process; mount it")
        guardian = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "energy.emulation.dvfs.guardian",
                str(owner.pid),
                str(owner.start_ticks),
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": _PACKAGES},
            start_new_session=True,
        )
        for message in self._ledger.messages():
            self._write(guardian, message)
        return guardian

    def _write(self, guardian: subprocess.Popen[bytes], message: Message) -> None:
        assert guardian.stdin is not None
        guardian.stdin.write(json.dumps(message).encode() + b"\n")
        guardian.stdin.flush()

    def _end(self, guardian: subprocess.Popen[bytes]) -> None:
        try:
            guardian.communicate(timeout=_CLOSING_S)
        except subprocess.TimeoutExpired:
            guardian.kill()
            guardian.wait()
