"""The one import for applications: `import foresight`.

Names are loaded on first use, so that the import itself costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks.mpc_paper.sweep import simulate
    from runtime.config import load_config
    from runtime.spark.attach import attach
    from runtime.spark.sensing.observe import observe

__all__ = ["attach", "load_config", "observe", "simulate"]

_HOMES = {
    "attach": "runtime.spark.attach",
    "load_config": "runtime.config",
    "observe": "runtime.spark.sensing.observe",
    "simulate": "benchmarks.mpc_paper.sweep",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module 'foresight' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)
