"""A streaming application that is scaled from outside: one JSON line a step, targets on its input.

Run as `python -m tests.platforms.application MASTER FOLDER [KEY=VALUE ...]`. Its query numbers rows
and writes each one to a file; when it is told to stop it reads them back, so that one that was lost
or written twice is found. Executors are steered by the product's own scaler and scheduler.
"""

import json
import sys
import threading
import time
from pathlib import Path

from pyspark.sql import SparkSession

from runtime.config import load_config
from runtime.spark.driver import Driver
from runtime.spark.launching.launcher import recommended_options
from runtime.spark.scaling.executors import SchedulerUnavailable
from runtime.spark.scaling.scaler import ExecutorScaler
from runtime.spark.scaling.scheduler import Scheduler

STEP_S = 0.5
ROWS_PER_S = 20
MOST_EXECUTORS = 3


class Orders:
    """The last target on standard input; None: stop."""

    def __init__(self) -> None:
        self.target: int | None = 1
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        for line in sys.stdin:
            self.target = int(line)
        self.target = None


def main(master: str, folder: Path, *given: str) -> None:
    options = {"spark.master": master, **dict(each.split("=", 1) for each in given)}
    config = load_config(None, [f"executors.max={MOST_EXECUTORS}"])
    builder = SparkSession.builder.appName("platform")
    added = recommended_options(config, options, lambda: None)
    for key, value in {**options, **added}.items():
        builder = builder.config(key, value)
    spark = builder.getOrCreate()
    orders = Orders()
    rows = spark.readStream.format("rate").option("rowsPerSecond", ROWS_PER_S).load()
    output, checkpoint = str(folder / "output"), str(folder / "checkpoint")
    query = (
        rows.select("value")
        .repartition(MOST_EXECUTORS)
        .writeStream.format("parquet")
        .option("checkpointLocation", checkpoint)
        .start(output)
    )
    scaler = ExecutorScaler(Scheduler(Driver.of(spark)), time.monotonic)
    while (target := orders.target) is not None:
        _print(_step(scaler, target))
        time.sleep(STEP_S)
    query.processAllAvailable()
    query.stop()
    failure = query.exception()
    written = sorted(row.value for row in spark.read.parquet(output).collect())
    _print(
        {
            "rows": len(written),
            "each_once": written == list(range(len(written))),
            "failure": None if failure is None else str(failure).splitlines()[0],
        }
    )
    spark.stop()


def _step(scaler: ExecutorScaler, target: int) -> dict[str, object]:
    try:
        state = scaler.steer(target)
    except SchedulerUnavailable as error:
        return {"unavailable": str(error)}
    return {
        "requested": state.requested,
        "observed": state.observed,
        "leaving": state.leaving,
        "executors": {info.executor_id: info.host for info in state.executors},
        "start_up_s": state.start_up_s,
        "events": [event.kind for event in state.events],
    }


def _print(document: dict[str, object]) -> None:
    print(json.dumps(document), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:])
