"""Where simulations run: here, in processes of this machine. `spark_runner` has the other place."""

import os
import signal
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from typing import Protocol, Self

from runtime.tuning.jobs import Job, run_job
from runtime.tuning.outcome import Outcome


class Runner(Protocol):
    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        """The position of a job and what came of it, as each finishes."""


class LocalRunner:
    """Worker processes that live as long as the tuning; with one, none at all."""

    def __init__(self, processes: int) -> None:
        self._pool: ProcessPoolExecutor | None = None
        if processes > 1:
            # spawn: a fork would inherit the threads of numerical libraries in an unknown state.
            self._pool = ProcessPoolExecutor(
                processes, mp_context=get_context("spawn"), initializer=_begin_worker
            )

    def run(self, jobs: Sequence[Job]) -> Iterator[tuple[int, Outcome]]:
        if self._pool is None:
            for index, job in enumerate(jobs):
                yield index, run_job(job)
            return
        futures = {self._pool.submit(run_job, job): index for index, job in enumerate(jobs)}
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


def _begin_worker() -> None:
    # Ctrl-C reaches the whole group; the parent ends the pool after the jobs that run.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()


def _end_with(parent: int) -> None:
    """A parent that was killed can end nobody."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
