"""The two stateless stages as they run in the Python workers: pack quotes, fit windows.

Adapters between Spark's record batches and the pure functions of `windows` and `fit`. Every Python
worker imports them, so they import neither pandas nor the decision core's compiled parts.
"""

import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark import TaskContext

from benchmarks.hft.pipeline.fit import FitOptions, predict
from benchmarks.hft.pipeline.records import HELD, arrivals, unpack
from benchmarks.hft.pipeline.windows import Span, WindowOptions, windows_of

PACKED_DDL = "bucket INT, quotes BINARY"

RESULT_SCHEMA = pa.schema(
    [
        ("symbol", pa.int32()),
        # seq of the window's last quote: with it a window is identified.
        ("end_seq", pa.int64()),
        # When that quote was due, and when the prediction was there: the difference is the latency.
        ("due_us", pa.int64()),
        ("completed_us", pa.int64()),
        # US dollars; null when the window has no quote of that side.
        ("bid", pa.float64()),
        ("ask", pa.float64()),
        # CPU time of the worker, which a busy or slowed host does not stretch as it does wall time.
        ("fit_cpu_us", pa.float64()),
        ("partition", pa.int32()),
    ]
)
RESULT_DDL = (
    "symbol INT, end_seq BIGINT, due_us BIGINT, completed_us BIGINT, bid DOUBLE, ask DOUBLE, "
    "fit_cpu_us DOUBLE, partition INT"
)

WORKER_MODULES = (
    "benchmarks.hft.stream.source",
    "benchmarks.hft.pipeline.stages",
    "benchmarks.hft.pipeline.window_state",
    "pyspark.sql.streaming.stateful_processor_api_client",
)
"""What the Python workers of the pipeline import, for `warm_worker_options`."""

ArrowMap = Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]


def packer(labels: tuple[int, ...]) -> ArrowMap:
    """One row for each state partition and record batch instead of one for each quote.

    Symbols are dealt out by their number, which is their rank in frequency where that is known.
    """

    def pack(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            quotes = arrivals(
                *(
                    batch.column(name).to_numpy(zero_copy_only=False)
                    for name in ("symbol", "seq", "ts_us", "bid", "ask")
                )
            )
            bucket = quotes["symbol"] % len(labels)
            present = np.unique(bucket)
            yield pa.RecordBatch.from_arrays(
                [
                    pa.array([labels[index] for index in present], pa.int32()),
                    pa.array([quotes[bucket == i].tobytes() for i in present], pa.binary()),
                ],
                names=["bucket", "quotes"],
            )

    return pack


def fitter(windows: WindowOptions, fitting: FitOptions) -> ArrowMap:
    """Predict for every window of every span."""

    def fit_spans(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        partition = 0 if context is None else context.partitionId()
        for batch in batches:
            rows = [
                row
                for record in batch.to_pylist()
                for row in _results(_span(record), windows, fitting, partition)
            ]
            yield pa.RecordBatch.from_pylist(rows, schema=RESULT_SCHEMA)

    return fit_spans


def _span(record: dict[str, Any]) -> Span:
    return Span(
        symbol=record["symbol"],
        quotes=unpack(record["quotes"], HELD),
        end_seqs=np.frombuffer(record["end_seqs"], dtype="<i8"),
    )


def _results(
    span: Span, windows: WindowOptions, fitting: FitOptions, partition: int
) -> Iterator[dict[str, object]]:
    for end_seq, window in zip(span.end_seqs, windows_of(span, windows), strict=True):
        started_ns = time.thread_time_ns()
        prediction = predict(window, fitting)
        yield {
            "symbol": span.symbol,
            "end_seq": int(end_seq),
            "due_us": int(window["ts_us"][-1]),
            "completed_us": time.time_ns() // 1_000,
            "bid": prediction.bid,
            "ask": prediction.ask,
            "fit_cpu_us": (time.thread_time_ns() - started_ns) / 1e3,
            "partition": partition,
        }
