"""Where predictions go: one parquet file for each micro-batch, written by the driver.

Predictions are some sixty bytes for 25 quotes, so the driver takes them all and a batch is one
small file. Its name is the batch's number and it appears whole: a batch that Spark repeats after a
failure replaces its own file, so that every window is there exactly once.
"""

from pathlib import Path
from typing import Protocol

import pyarrow as pa
import pyarrow.parquet as pq


class Sink(Protocol):
    """Takes the predictions of a micro-batch; the same number again replaces what came before."""

    def write(self, batch_id: int, results: pa.Table) -> None: ...


class ParquetSink:
    def __init__(self, folder: Path) -> None:
        self._folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def write(self, batch_id: int, results: pa.Table) -> None:
        path = self._folder / f"batch-{batch_id:09d}.parquet"
        # The reader takes *.parquet only, and a rename is all or nothing.
        unfinished = path.with_suffix(".unfinished")
        pq.write_table(results, unfinished)
        unfinished.replace(path)


def read_results(folder: Path, schema: pa.Schema) -> pa.Table:
    """Everything a `ParquetSink` wrote, in the order of the batches."""
    tables = [pq.read_table(path) for path in sorted(folder.glob("batch-*.parquet"))]
    return pa.concat_tables([schema.empty_table(), *tables])
