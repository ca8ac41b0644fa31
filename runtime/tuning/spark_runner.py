"""Runs simulations on the executors of a Spark cluster: the same function on the same jobs."""

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Self

from pyspark import SparkConf, SparkContext

from runtime.tuning.jobs import TuningJob
from runtime.tuning.outcome import TuningOutcome


class SparkRunner:
    """One task a job. Foresight must be installed on the workers, in the same version."""

    def __init__(self, master: str) -> None:
        # Otherwise Spark takes the first Python it finds, which may have nothing of Foresight.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        self._context = SparkContext(
            conf=SparkConf().setMaster(master).setAppName("foresight tune")
        )

    def run(
        self, function: Callable[[TuningJob], TuningOutcome], jobs: Sequence[TuningJob]
    ) -> Iterator[tuple[int, TuningOutcome]]:
        """All at once: outcomes arrive when the last job has finished."""
        if jobs:
            outcomes = self._context.parallelize(jobs, len(jobs)).map(function).collect()
            yield from enumerate(outcomes)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._context.stop()
