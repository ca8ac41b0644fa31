"""Records of real decisions."""

import pytest

from runtime.control.journal import StepRecord
from tests.runtime.web.recorded import recorded


@pytest.fixture(scope="session")
def records() -> tuple[StepRecord, ...]:
    return recorded(160)
