"""Every counter of a source keeps the contract: quotes, Spark's rate source, files in a folder."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.contracts.sources import BENCHES, CHECKS, SourceBench


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", BENCHES)
def test_the_contract_is_kept(
    name: str, check: Callable[[SourceBench], None], tmp_path: Path
) -> None:
    check(BENCHES[name](tmp_path))
