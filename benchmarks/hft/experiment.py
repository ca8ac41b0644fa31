"""One policy in charge of the trading pipeline on a real cluster, from quotes to a result row.

Runs in a driver process of its own (`python -m benchmarks.hft.experiment SPEC`): a JVM has one
Spark application, and no policy inherits the warm caches of the one before. Latency is that of the
predictions themselves, from the moment their last quote was due, by the step in which it was due;
what was never predicted counts as late.
"""

import sys
import time
from collections.abc import Callable
from pathlib import Path

import msgspec
import numpy as np
import pyarrow as pa
from pyspark.sql import SparkSession

from benchmarks.hft.outcome import Predictions, outcome
from benchmarks.hft.pipeline import SESSION_OPTIONS, PipelineOptions, build_query
from benchmarks.hft.placement import Placement
from benchmarks.hft.replay import Replay
from benchmarks.hft.source import QuotesDataSource
from benchmarks.results import Run
from mpc.policies.spark_ratio import SparkRatioPolicy
from runtime.config import Config, load_config
from runtime.control.assembly import PolicyFactory
from runtime.control.journal import StepRecord
from runtime.spark.attach import attach
from runtime.spark.options import SCALING_OPTIONS
from runtime.spark.scheduler import Scheduler

LEARNING_S = 15.0
"""The controller starts so long before the measured time: it needs some batches to know the job."""
DRAIN_S = 20.0
"""What was due in the measured time may still be predicted so long after it."""


class Experiment(msgspec.Struct, frozen=True, kw_only=True):
    """Everything a driver has to know."""

    master_url: str
    agents: dict[str, str]
    """UNIX socket of the agent of each host."""
    policy: str
    seed: int
    warm_up_s: float
    duration_s: float
    replay: Replay
    trigger_interval_s: float
    scaling_interval_s: float
    """Of spark-ratio."""
    partitions: int
    folder: str
    overrides: tuple[str, ...]
    """Of the configuration: the target, the bounds, the frequencies."""

    @property
    def config(self) -> Config:
        named = "foresight" if self.policy == "spark-ratio" else self.policy
        agents = [f"{host}=unix:{path}" for host, path in self.agents.items()]
        return load_config(
            None,
            [
                *self.overrides,
                f'policy="{named}"',
                f"agents.urls={msgspec.json.encode(agents).decode()}",
                f"journal.folder={msgspec.json.encode(f'{self.folder}/journal').decode()}",
            ],
        )


class _Collected:
    """A sink that keeps when predictions were due and when they were there."""

    def __init__(self) -> None:
        self._batches: dict[int, tuple[np.ndarray, np.ndarray]] = {}

    def write(self, batch_id: int, results: pa.Table) -> None:
        self._batches[batch_id] = (
            results.column("due_us").to_numpy(),
            results.column("completed_us").to_numpy(),
        )

    def predictions(self) -> Predictions:
        batches = list(self._batches.values()) or [(np.empty(0), np.empty(0))]
        due_us, completed_us = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        return Predictions(due_us / 1e6, completed_us / 1e6)


def run_experiment(experiment: Experiment, on_step: Callable[[StepRecord], None]) -> Run:
    """The run of one policy; `on_step` sees every control step as it ends."""
    config = experiment.config
    folder = Path(experiment.folder)
    spark = _session(experiment, config)
    try:
        Scheduler(spark).start_with(config.executors.max)
        spark.dataSource.register(QuotesDataSource)
        epoch_s = int(time.time()) + 5
        replay = msgspec.structs.replace(experiment.replay, epoch_us=epoch_s * 1_000_000)
        quotes = spark.readStream.format("quotes").options(**replay.options()).load()
        collected = _Collected()
        placement = Placement(config.executors.max)
        query = build_query(
            spark,
            quotes,
            PipelineOptions(
                checkpoint=folder / "checkpoint",
                output=folder / "predictions",
                state_partitions=experiment.partitions,
                trigger_interval_s=experiment.trigger_interval_s,
            ),
            placement,
            [collected],
        )
        begin_s = epoch_s + experiment.warm_up_s
        end_s = begin_s + experiment.duration_s
        records: list[StepRecord] = []

        def keep(record: StepRecord) -> None:
            # The fits follow the executors at once; a partition nobody runs would only wait.
            placement.resize(max(record.applied.observed.executors, 1))
            records.append(record)
            on_step(record)

        _sleep_until(begin_s - LEARNING_S)
        factory = _policy_factory(experiment)
        with attach(spark, config, make_policy=factory, on_step=keep):
            _sleep_until(end_s)
        _sleep_until_predicted(collected, end_s)
        failure = query.exception()
        query.stop()
        if failure is not None:
            raise RuntimeError(f"the pipeline failed: {failure}")
    finally:
        spark.stop()
    measured = [record for record in records if begin_s < record.at_s <= end_s]
    return outcome(
        experiment.policy, experiment.seed, measured, collected.predictions(), begin_s, config
    )


def _session(experiment: Experiment, config: Config) -> SparkSession:
    options = {
        **SCALING_OPTIONS,
        **SESSION_OPTIONS,
        "spark.executor.cores": "1",
        "spark.executor.memory": "512m",
        "spark.driver.memory": "1g",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.cores.max": str(config.executors.max),
        "spark.sql.shuffle.partitions": str(experiment.partitions),
        "spark.sql.warehouse.dir": f"{experiment.folder}/warehouse",
    }
    builder = SparkSession.builder.master(experiment.master_url).appName(experiment.policy)
    for key, value in options.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _policy_factory(experiment: Experiment) -> PolicyFactory | None:
    if experiment.policy != "spark-ratio":
        return None
    return lambda space, _dead_time_s: SparkRatioPolicy(
        space, experiment.trigger_interval_s, experiment.scaling_interval_s
    )


def _sleep_until(wall_s: float) -> None:
    time.sleep(max(0.0, wall_s - time.time()))


def _sleep_until_predicted(collected: _Collected, end_s: float) -> None:
    """Until a quote that was due after the end was predicted, or patience ends."""
    while time.time() < end_s + DRAIN_S:
        due_s = collected.predictions().due_s
        if len(due_s) and due_s.max() >= end_s:
            return
        time.sleep(0.5)


def main() -> None:
    """Steps go to standard output as JSON lines; the last line is the run."""
    experiment = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=Experiment)

    def tell(record: StepRecord) -> None:
        measurement, applied = record.measurement, record.applied
        _print(
            {
                "step": {
                    "at_s": record.at_s,
                    "arrivals_per_s": measurement.arrivals_per_s,
                    "latency_s": measurement.latency_s,
                    "power_w": measurement.power_w,
                    "executors": [applied.requested.executors, applied.observed.executors],
                    "frequency_khz": [
                        applied.requested.frequency_khz,
                        applied.observed.frequency_khz,
                    ],
                    "reason": record.decision.reason,
                    "events": [event.kind for event in record.events],
                }
            }
        )

    _print({"run": run_experiment(experiment, tell)})


def _print(document: dict[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
