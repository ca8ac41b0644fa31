"""One policy in charge of the trading pipeline on a real cluster, from quotes to a result row.

Runs in a driver process of its own (`python -m benchmarks.hft.experiment SPEC`): a JVM has one
Spark application, and no policy inherits the warm caches of the one before. Latency is that of the
predictions themselves, from the moment their last quote was due, by the time at which it was due;
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

from benchmarks.hft.calibration.sweep import SweepPolicy
from benchmarks.hft.outcome import Predictions, outcome
from benchmarks.hft.pipeline.placement import Placement
from benchmarks.hft.pipeline.query import PipelineOptions, build_query
from benchmarks.hft.session import PIPELINE_OPTIONS, at_driver, open_session
from benchmarks.hft.setting import HftSetting
from benchmarks.hft.stream.replay import Replay
from benchmarks.policies import descent_settings
from benchmarks.results import Run
from mpc.values import FloatArray, PowerSource
from runtime.config import Config, load_config
from runtime.control.assembly import PolicyFactory
from runtime.control.journal import StepRecord
from runtime.spark.attach import attach
from runtime.spark.driver import Driver
from runtime.spark.scaling.scheduler import Scheduler

LEARNING_S = 150.0
"""The controller starts so long before the measured time: it needs some batches to know the job,
and executors that it asks for take time to come."""
SWEEP = "sweep"
"""The policy of a calibration; it is none that a configuration could name."""
SWEEP_DWELL_TRIGGERS = 2.0
"""A calibration stays so many trigger intervals, so that one batch at least is all of one
configuration."""
DRAIN_S = 20.0
"""What was due in the measured time may still be predicted so long after it."""


class RunningCluster(msgspec.Struct, frozen=True):
    """How a driver reaches a cluster, and what it has to know about it."""

    master_url: str
    agents: tuple[str, ...]
    """host=address of each agent, as in agents.urls."""
    executors: int
    driver_host: str | None = None
    """Address at which executors reach the driver; None: as Spark finds it."""
    java_options: str | None = None
    """Of executors; with a class-data archive they start in half the time."""
    overrides: tuple[str, ...] = ()
    """Of the configuration."""


class HftExperiment(msgspec.Struct, frozen=True):
    """Everything a driver has to know."""

    policy: str
    setting: HftSetting
    cluster: RunningCluster
    folder: str

    @property
    def replay(self) -> Replay:
        return msgspec.structs.replace(
            self.setting.replay, seed=self.setting.seed, partitions=self.cluster.executors
        )

    @property
    def initial_executors(self) -> int:
        """What every policy finds; it is the user's first guess, not the policy's."""
        return max(self.cluster.executors // 2, 1)

    @property
    def config(self) -> Config:
        setting, cluster = self.setting, self.cluster
        named = "foresight" if self.policy == SWEEP else self.policy
        return load_config(
            None,
            [
                f"slo.latency_ms={setting.target_s * 1e3}",
                "executors.min=1",
                f"executors.max={cluster.executors}",
                f"horizon.step_s={setting.step_s}",
                f"cost.gamma={setting.gamma}",
                f"policies.spark-ratio.batch_interval_s={setting.trigger_interval_s}",
                f"policies.spark-ratio.scaling_interval_s={setting.scaling_interval_s}",
                *descent_settings(self.policy),
                *cluster.overrides,
                *setting.overrides,
                f'policy="{named}"',
                f"agents.urls={msgspec.json.encode(cluster.agents).decode()}",
                f"journal.folder={msgspec.json.encode(f'{self.folder}/journal').decode()}",
            ],
        )

    def check(self) -> None:
        """`ConfigError` for a mistake that would otherwise come from the driver, much later."""
        _ = self.config


class HftOutcome(msgspec.Struct, frozen=True):
    """What a driver hands back."""

    run: Run
    power_source: PowerSource
    begin_s: float
    """Wall time at which measuring began."""


class Collected:
    """The last sink: keeps when predictions were due, and when a consumer could read them.

    That is a second or two after the fit itself (`completed_us`), and it is what the sensor, and
    with it every policy, goes by: a batch's predictions come all at once.
    """

    def __init__(self, clock_s: Callable[[], float] = time.time) -> None:
        self._clock_s = clock_s
        self._batches: dict[int, tuple[FloatArray, FloatArray]] = {}

    def write(self, batch_id: int, results: pa.Table) -> None:
        due_s = results.column("due_us").to_numpy() / 1e6
        self._batches[batch_id] = (due_s, np.full(len(due_s), self._clock_s()))

    def predictions(self) -> Predictions:
        batches = list(self._batches.values()) or [(np.empty(0), np.empty(0))]
        due_s, there_s = (np.concatenate(parts) for parts in zip(*batches, strict=True))
        return Predictions(due_s, there_s)


def run_experiment(
    experiment: HftExperiment,
    on_step: Callable[[StepRecord], None],
    on_page: Callable[[str], None],
) -> HftOutcome:
    """The run of one policy; `on_step` sees every control step as it ends, `on_page` gets the
    address of the controller's page."""
    config, setting = experiment.config, experiment.setting
    folder = Path(experiment.folder)
    spark = _session(experiment)
    try:
        Scheduler(Driver.of(spark)).start_with(experiment.initial_executors)
        epoch_s = int(time.time()) + 5
        replay = msgspec.structs.replace(experiment.replay, epoch_us=epoch_s * 1_000_000)
        quotes = spark.readStream.format("quotes").options(**replay.options()).load()
        collected = Collected()
        placement = Placement(config.executors.max, setting.placement)
        query = build_query(
            spark,
            quotes,
            PipelineOptions(
                checkpoint=folder / "checkpoint",
                output=folder / "predictions",
                state_partitions=experiment.initial_executors,
                trigger_interval_s=setting.trigger_interval_s,
            ),
            placement,
            [collected],
        )
        begin_s = epoch_s + setting.warm_up_s
        end_s = begin_s + setting.duration_s
        records: list[StepRecord] = []

        def keep(record: StepRecord) -> None:
            # The fits follow the executors at once; a partition nobody runs would only wait.
            placement.resize(max(record.applied.observed.executors, 1))
            records.append(record)
            on_step(record)

        _sleep_until(begin_s - LEARNING_S)
        factory = _policy_factory(experiment)
        with attach(spark, config, make_policy=factory, on_step=keep) as controller:
            if controller.page_url is not None:
                on_page(controller.page_url)
            _sleep_until(end_s)
        _sleep_until_predicted(collected, end_s)
        failure = query.exception()
        query.stop()
        if failure is not None:
            raise RuntimeError(f"the pipeline failed: {failure}")
    finally:
        spark.stop()
    measured = [record for record in records if begin_s < record.at_s <= end_s]
    run = outcome(
        experiment.policy,
        setting.seed,
        measured,
        collected.predictions(),
        begin_s,
        config,
        setting.trigger_interval_s,
    )
    return HftOutcome(run, measured[-1].measurement.power_source, begin_s)


def _session(experiment: HftExperiment) -> SparkSession:
    cluster = experiment.cluster
    options = {
        **PIPELINE_OPTIONS,
        "spark.executor.memory": "512m",
        "spark.cores.max": str(cluster.executors),
        "spark.sql.shuffle.partitions": str(cluster.executors),
        # One thread each: an executor has one core, and a warm worker is forked.
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
    }
    if cluster.driver_host is not None:
        options |= at_driver(cluster.driver_host)
    if cluster.java_options is not None:
        options["spark.executor.extraJavaOptions"] = cluster.java_options
    return open_session(cluster.master_url, experiment.policy, Path(experiment.folder), options)


def _policy_factory(experiment: HftExperiment) -> PolicyFactory | None:
    if experiment.policy != SWEEP:
        return None
    dwell_s = SWEEP_DWELL_TRIGGERS * experiment.setting.trigger_interval_s
    return lambda space, _dead_time_s: SweepPolicy(space, dwell_s)


def _sleep_until(wall_s: float) -> None:
    time.sleep(max(0.0, wall_s - time.time()))


def _sleep_until_predicted(collected: Collected, end_s: float) -> None:
    """Until a quote that was due after the end was predicted, or patience ends."""
    while time.time() < end_s + DRAIN_S:
        due_s = collected.predictions().due_s
        if len(due_s) and due_s.max() >= end_s:
            return
        time.sleep(0.5)


def main() -> None:
    """Steps go to standard output as JSON lines; the last line is the run."""
    experiment = msgspec.json.decode(Path(sys.argv[1]).read_bytes(), type=HftExperiment)

    def print_step(record: StepRecord) -> None:
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

    _print({"outcome": run_experiment(experiment, print_step, lambda url: _print({"page": url}))})


def _print(document: dict[str, object]) -> None:
    sys.stdout.buffer.write(msgspec.json.encode(document) + b"\n")
    sys.stdout.buffer.flush()


if __name__ == "__main__":
    main()
