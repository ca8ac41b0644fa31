"""Independent runs in processes of this machine.

Workers ignore Ctrl-C, which their parent handles, and end when it was killed. Functions and jobs
must be picklable; with one process everything runs in the caller's.
"""

import os
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Self, TypeVar

Job = TypeVar("Job")
Result = TypeVar("Result")

PARENT_CHECK_S = 1.0


class WorkerPool:
    """Worker processes that live until the pool is left."""

    def __init__(self, processes: int | None) -> None:
        """None: one process per core."""
        self._pool: ProcessPoolExecutor | None = None
        if processes is None or processes > 1:
            # spawn: a fork would inherit the threads of numerical libraries in an unknown state.
            self._pool = ProcessPoolExecutor(
                processes, mp_context=get_context("spawn"), initializer=_begin_worker
            )

    def run(
        self, function: Callable[[Job], Result], jobs: Sequence[Job]
    ) -> Iterator[tuple[int, Result]]:
        """The position of a job and its result, as each finishes."""
        if self._pool is None:
            for index, job in enumerate(jobs):
                yield index, function(job)
            return
        futures = {self._pool.submit(function, job): index for index, job in enumerate(jobs)}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        finally:
            for future in futures:
                future.cancel()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)


def run_all(
    function: Callable[[Job], Result],
    jobs: Sequence[Job],
    processes: int | None,
    on_done: Callable[[], None] | None = None,
) -> list[Result]:
    """All results in the order of `jobs`, by one process per core where their number is None;
    `on_done` is called as each job finishes."""
    results: dict[int, Result] = {}
    most = processes or os.cpu_count() or 1
    with WorkerPool(min(most, len(jobs))) as pool:
        for index, result in pool.run(function, jobs):
            results[index] = result
            if on_done is not None:
                on_done()
    return [results[index] for index in range(len(jobs))]


def _begin_worker() -> None:
    # Ctrl-C reaches the whole group; the parent ends the pool after the jobs that run.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    """A parent that was killed can end nobody."""
    while os.getppid() == parent:
        time.sleep(PARENT_CHECK_S)
    os._exit(1)
