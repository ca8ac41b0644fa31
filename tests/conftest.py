"""What every test shares: the hypothesis profiles and the real data beside the project."""

import os
from pathlib import Path

import pytest
from hypothesis import settings

# "ci" tries the same examples every time, so that a change and not chance turns it red; "dev"
# looks for new ones. Speed is no property of the code under test, hence no deadline.
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.register_profile("dev", deadline=None, max_examples=50)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "dev"))

SHARED_DATA = Path(__file__).parents[1] / ".." / "shared" / "data"


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real traces, sweeps and ticks; the test is skipped where there is none."""
    if not SHARED_DATA.is_dir():
        pytest.skip("the real data (../shared/data) is not beside the project")
    return SHARED_DATA
