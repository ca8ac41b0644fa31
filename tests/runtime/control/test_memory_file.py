"""What is remembered of other days outlives the controller and the journal."""

from pathlib import Path

import numpy as np

from forecasting.memory import remembered
from forecasting.profile import DAY_S
from runtime.control.memory_file import MemoryFile, _contents, _memory


def test_a_memory_reads_back_as_it_was() -> None:
    memory = remembered(np.arange(1.0, 2000.0).tolist(), 3.5 * DAY_S, 60.0)
    memory.edges[0, 1, 3] = -12.5
    again = _memory(_contents(memory))
    assert again is not None
    for before, after in zip(memory.profiles, again.profiles, strict=True):
        assert np.allclose(before.means, after.means, rtol=1e-5, equal_nan=True)
        assert np.array_equal(before.visits, after.visits)
        assert (before.since_s, before.until_s) == (after.since_s, after.until_s)
    assert np.array_equal(memory.edges, again.edges)
    assert again.spans_a_day


def test_a_torn_or_foreign_file_is_passed_over(tmp_path: Path) -> None:
    file = MemoryFile(tmp_path)
    assert file.read() is None
    for content in (b"", b"{", b'{"profiles": [], "edges": []}', b"\xff"):
        file.path.write_bytes(content)
        assert file.read() is None
