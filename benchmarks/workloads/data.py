"""Where the papers' and market data are that the project does not ship."""

import os
from pathlib import Path


def default_data() -> Path | None:
    """FORESIGHT_DATA, or `../shared/data` beside a checkout; None without either."""
    named = os.environ.get("FORESIGHT_DATA")
    if named:
        return Path(named)
    beside = Path(__file__).resolve().parents[2].parent / "shared" / "data"
    return beside if beside.is_dir() else None
