"""Writes files of sentences into a folder, more and fewer of them in a wave of load."""

import itertools
import math
import random
import threading
import time
from pathlib import Path

TEXT = (
    "the executor waits while a batch of rows is late and the queue grows "
    "until another executor comes to help so that every row is in time again"
)
_EVERY_S = 0.5


class Feed:
    """One file every half second until the application ends, from a thread of its own."""

    def __init__(self, folder: Path, peak_lines_per_s: int, period_s: float) -> None:
        self._folder = folder
        self._peak_lines_per_s = peak_lines_per_s
        self._period_s = period_s
        chance = random.Random(1)
        # Made once: a file is a part of it.
        self._lines = [" ".join(chance.choices(TEXT.split(), k=8)) + "\n" for _ in range(1000)]

    def start(self) -> None:
        threading.Thread(target=self._write, daemon=True).start()

    def lines_per_s(self, elapsed_s: float) -> float:
        """From a tenth of the peak up to it, once a period."""
        phase = 2 * math.pi * elapsed_s / self._period_s
        return self._peak_lines_per_s * (0.55 - 0.45 * math.cos(phase))

    def _write(self) -> None:
        begin_s = time.monotonic()
        for number in itertools.count():
            time.sleep(max(0.0, begin_s + number * _EVERY_S - time.monotonic()))
            whole, rest = divmod(int(self.lines_per_s(number * _EVERY_S) * _EVERY_S), 1000)
            text = "".join(self._lines) * whole + "".join(self._lines[:rest])
            # Spark must not see half a file, and leaves out names that begin with a dot.
            unfinished = self._folder / f".{number}"
            try:
                unfinished.write_text(text)
                unfinished.rename(self._folder / f"{number}.txt")
            except OSError:
                return  # the folder has gone with the application
