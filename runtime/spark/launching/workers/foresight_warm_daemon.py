"""A daemon of Python workers that imports what they need once, before it forks them.

Spark's own daemon leaves every worker to import its libraries, so that the first batch of a new
executor waits for several of them. This one runs in `pyspark.daemon`'s place
(`spark.python.daemon.module`), alone in its folder: Spark ships the file to hosts that have nothing
else of Foresight, so it imports nothing of it either.
"""

import gc
import importlib
import os
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

WARM_MODULES = "FORESIGHT_WARM_MODULES"
"""Environment variable: modules of the application to import as well, with commas."""

COMMON_MODULES = ("pyspark.worker", "pyarrow", "pandas", "pyspark.sql.pandas.serializers")
"""What nearly every worker imports; one that is not installed is left out."""

_WORKER = "pyspark.worker"
_THREADS = Path("/proc/self/task")


def warm(modules: Iterable[str]) -> bool:
    """Import what can be imported. False if that started a thread: forking then is not safe."""
    # Arrow's second allocator would start one, though it is not in use.
    os.environ.setdefault("JE_ARROW_MALLOC_CONF", "background_thread:false")
    with _silent():
        for module in modules:
            # A worker that needs the module says what is wrong with it.
            with suppress(Exception, SystemExit):
                importlib.import_module(module)
    if "numpy" in sys.modules:
        # It took its seed as it was imported: all workers would draw the same numbers.
        os.register_at_fork(after_in_child=sys.modules["numpy"].random.seed)
    # What was imported stays; collecting it would copy its pages in every worker.
    gc.collect()
    gc.freeze()
    return not _THREADS.is_dir() or len(list(_THREADS.iterdir())) == 1


@contextmanager
def _silent() -> Iterator[None]:
    """Spark reads the daemon's port from standard output; what modules print goes elsewhere."""
    sys.stdout.flush()
    kept = os.dup(1)
    os.dup2(2, 1)
    try:
        yield
    finally:
        sys.stdout.flush()
        os.dup2(kept, 1)
        os.close(kept)


def main() -> None:
    # The driver has daemons for other, short-lived workers: those start as they always did.
    if sys.argv[1:2] == [_WORKER]:
        named = os.environ.get(WARM_MODULES, "").split(",")
        if not warm((*COMMON_MODULES, *filter(None, map(str.strip, named)))):
            os.execv(sys.executable, [sys.executable, "-m", "pyspark.daemon", *sys.argv[1:]])
    daemon = importlib.import_module("pyspark.daemon")
    daemon.manager()


if __name__ == "__main__":
    main()
