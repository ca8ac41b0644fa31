"""Runs simulations on the executors of a Spark cluster: the same function on the same jobs."""

import os
import sys
from collections.abc import Iterator, Sequence
from typing import Self

from pyspark import SparkConf, SparkContext

from runtime.tuning.jobs import TuningJob, run_job
from runtime.tuning.outcome import TuningOutcome


class SparkRunner:
    """One task a job. Foresight must be installed on the workers, in the same version."""

    def __init__(self, master: str) -> None:
        # Otherwise Spark takes the first Python it finds, which may have nothing of Foresight.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._context = SparkContext(
            conf=SparkConf().setMaster(master).setAppName("foresight tune")
        )

    def run(self, jobs: Sequence[TuningJob]) -> Iterator[tuple[int, TuningOutcome]]:
        """All at once: outcomes arrive when the last job has finished."""
        if jobs:
            tasks = self._context.parallelize(list(enumerate(jobs)), len(jobs))
            yield from tasks.map(_numbered).collect()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.stop()


def _numbered(task: tuple[int, TuningJob]) -> tuple[int, TuningOutcome]:
    index, job = task
    return index, run_job(job)
