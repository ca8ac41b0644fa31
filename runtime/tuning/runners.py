"""Where simulations run: here, in processes of this machine. `spark_runner` has the other place."""

from collections.abc import Iterator, Sequence
from typing import Protocol, Self

from mpc.simulation.pool import WorkerPool
from runtime.tuning.jobs import TuningJob, run_job
from runtime.tuning.outcome import TuningOutcome


class Runner(Protocol):
    def run(self, jobs: Sequence[TuningJob]) -> Iterator[tuple[int, TuningOutcome]]:
        """The position of a job and what came of it, as each finishes."""


class LocalRunner:
    """Worker processes that live as long as the tuning; with one, none at all."""

    def __init__(self, processes: int | None) -> None:
        self._pool = WorkerPool(processes)

    def run(self, jobs: Sequence[TuningJob]) -> Iterator[tuple[int, TuningOutcome]]:
        return self._pool.run(run_job, jobs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._pool.__exit__(*error)
