"""A few random lives of an agent; `crashes.py` alone runs as many as one likes."""

import pytest

from tests.end_to_end.agent.crashes import Life
from tests.support.fuse.handle import fuse_unavailable

pytestmark = pytest.mark.skipif(
    (reason := fuse_unavailable()) is not None, reason=f"no FUSE host here: {reason}"
)


@pytest.mark.parametrize("seed", range(1001, 1009))
def test_whatever_happened_the_host_is_as_it_was(seed: int) -> None:
    assert Life(seed).run() == []
