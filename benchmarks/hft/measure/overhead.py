"""What the control loop costs: the trading pipeline with and without it, in turns.

One query runs as fast as it can all the time, on two executors of one core. A controller with two
agents is attached to it and detached from it. In each pair of legs chance says which comes first,
as often the one as the other, so that whatever drifts falls on both. It advises only: what is
measured is measuring, planning, journaling and asking the agents, not what a change would bring.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import msgspec
import numpy as np
import psutil
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.hft.measure.cluster import (
    HOST,
    BenchCluster,
    batches_of,
    bench_cluster,
    used_s,
    wait_for_batch,
    waiting_quotes,
)
from benchmarks.hft.pipeline.placement import Placement
from benchmarks.hft.pipeline.query import PipelineOptions, build_query
from runtime.config import Config, load_config
from runtime.fleet.local import LocalHosts
from runtime.spark.attach import attach
from runtime.spark.sensing.progress import BatchProgress

EXECUTORS = 2
SPACE_EXECUTORS = 8
"""What the policy chooses among; more than there are, as it only advises."""
BATCH_ROWS = 25_000
WARM_BATCHES = 80
"""A JVM becomes faster for some minutes; most of it is over then."""
SETTLE_S = 2.5
"""Between two legs: the batch in between ends, the controller reads its journal and begins."""
_RESAMPLES = 2_000
_CONFIDENCE = 0.95


@dataclass(frozen=True, slots=True)
class Leg:
    """The batches that began and ended within one leg."""

    rows: int
    batches: int
    span_s: float
    """From the start of the first to the end of the last."""
    cpu_s: float
    """Of driver, executors, Python workers and agents over the whole leg."""
    python_cpu_s: float
    """Of the driver's Python, where the loop runs, and of the agents alone."""
    leg_s: float
    steps: int
    """Control steps in it."""

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.span_s

    @property
    def cpu_s_per_million(self) -> float:
        return 1e6 * self.cpu_s / (self.rows_per_s * self.leg_s)


@dataclass(frozen=True, slots=True)
class Pair:
    """Quotes/s of two legs beside each other, and what the controlled one lost."""

    pair: int
    controlled_first: bool
    without_per_s: float
    with_per_s: float
    loss_fraction: float
    without_cpu_s: float
    """CPU seconds for a million quotes."""
    with_cpu_s: float
    loop_cores: float
    """What the driver's Python and the agents used more, in cores."""
    steps: int


@dataclass(frozen=True, slots=True)
class Overhead:
    """Medians over the pairs, with intervals that cover the true median in 95 of 100 cases."""

    loss_fraction: float
    loss_low: float
    loss_high: float
    cpu_fraction: float
    """More CPU time for the same quotes."""
    cpu_low: float
    cpu_high: float
    loop_cores: float
    """Cores that the loop's own Python and the agents use; the JVM's part is not in it."""
    pairs: tuple[Pair, ...]


def paired(number: int, without: Leg, controlled: Leg, *, controlled_first: bool) -> Pair:
    return Pair(
        pair=number,
        controlled_first=controlled_first,
        without_per_s=without.rows_per_s,
        with_per_s=controlled.rows_per_s,
        loss_fraction=1 - controlled.rows_per_s / without.rows_per_s,
        without_cpu_s=without.cpu_s_per_million,
        with_cpu_s=controlled.cpu_s_per_million,
        loop_cores=controlled.python_cpu_s / controlled.leg_s
        - without.python_cpu_s / without.leg_s,
        steps=controlled.steps,
    )


def summary(pairs: Sequence[Pair], random: np.random.Generator) -> Overhead:
    losses = np.array([pair.loss_fraction for pair in pairs])
    more_cpu = np.array([pair.with_cpu_s / pair.without_cpu_s - 1 for pair in pairs])
    loss_low, loss_high = median_interval(losses, random)
    cpu_low, cpu_high = median_interval(more_cpu, random)
    return Overhead(
        loss_fraction=float(np.median(losses)),
        loss_low=loss_low,
        loss_high=loss_high,
        cpu_fraction=float(np.median(more_cpu)),
        cpu_low=cpu_low,
        cpu_high=cpu_high,
        loop_cores=float(np.median([pair.loop_cores for pair in pairs])),
        pairs=tuple(pairs),
    )


def median_interval(
    values: np.ndarray[tuple[int], np.dtype[np.float64]], random: np.random.Generator
) -> tuple[float, float]:
    """Percentile bootstrap of the median."""
    chosen = random.choice(values, size=(_RESAMPLES, len(values)))
    tail = (1 - _CONFIDENCE) / 2
    low, high = np.quantile(np.median(chosen, axis=1), [tail, 1 - tail])
    return float(low), float(high)


def orders(pairs: int, random: np.random.Generator) -> list[bool]:
    """Whether the controlled leg comes first: once in every two pairs, in random order."""
    chosen = random.integers(2, size=(pairs + 1) // 2) == 1
    both = np.stack([chosen, ~chosen], axis=1).ravel()
    return [bool(first) for first in both[:pairs]]


def whole_batches(
    batches: Sequence[BatchProgress], begin_s: float, end_s: float
) -> list[BatchProgress]:
    """Those that began and ended in between; wall times."""
    return [batch for batch in batches if batch.started_s >= begin_s and batch.finished_s <= end_s]


def measure_overhead(pairs: int, leg_s: float, seed: int, begin: Callable[[str], None]) -> Overhead:
    """`begin` gets what happens as it begins."""
    random = np.random.default_rng(seed)
    begin("starting agents and cluster")
    names = (HOST, "127.0.0.3")
    options = {"spark.cores.max": str(SPACE_EXECUTORS)}
    with (
        LocalHosts(names, cpus=1, throttle="none") as hosts,
        bench_cluster(EXECUTORS, options) as bench,
    ):
        config = _config(hosts, bench.folder)
        with _pipeline(bench) as query:
            begin("warming up")
            wait_for_batch(query, WARM_BATCHES // 2)
            with attach(bench.spark, config):
                wait_for_batch(query, WARM_BATCHES)
            found = []
            for number, controlled_first in enumerate(orders(pairs, random), 1):
                legs = {}
                for controlled in (controlled_first, not controlled_first):
                    begin(f"pair {number} of {pairs}, {'with' if controlled else 'without'}")
                    legs[controlled] = _leg(
                        bench, hosts, query, leg_s, config if controlled else None
                    )
                found.append(
                    paired(number, legs[False], legs[True], controlled_first=controlled_first)
                )
    return summary(found, random)


def _leg(
    bench: BenchCluster,
    hosts: LocalHosts,
    query: StreamingQuery,
    leg_s: float,
    config: Config | None,
) -> Leg:
    if config is None:
        return _counted(bench, hosts, query, leg_s, lambda: 0)
    steps: list[float] = []
    with attach(bench.spark, config, on_step=lambda record: steps.append(record.at_s)):
        return _counted(bench, hosts, query, leg_s, lambda: len(steps))


def _counted(
    bench: BenchCluster,
    hosts: LocalHosts,
    query: StreamingQuery,
    leg_s: float,
    steps: Callable[[], int],
) -> Leg:
    time.sleep(SETTLE_S)
    steps_before = steps()
    cpu_before, agents_before = bench.cpu_s(), _agents_cpu_s(hosts)
    begin_s = time.time()
    time.sleep(leg_s)
    end_s = time.time()
    cpu_after, agents_s = bench.cpu_s(), _agents_cpu_s(hosts) - agents_before
    failure = query.exception()
    if failure is not None:
        raise failure
    batches = whole_batches(batches_of(query), begin_s, end_s)
    if not batches:
        raise ValueError(f"no micro-batch fits into a leg of {leg_s:g} s: make it longer")
    return Leg(
        rows=sum(batch.rows for batch in batches),
        batches=len(batches),
        span_s=batches[-1].finished_s - batches[0].started_s,
        cpu_s=used_s(cpu_before, cpu_after) + agents_s,
        python_cpu_s=used_s(cpu_before, cpu_after, "driver_python") + agents_s,
        leg_s=end_s - begin_s,
        steps=steps() - steps_before,
    )


@contextmanager
def _pipeline(bench: BenchCluster) -> Iterator[StreamingQuery]:
    options = waiting_quotes(EXECUTORS, BATCH_ROWS).options()
    query = build_query(
        bench.spark,
        bench.spark.readStream.format("quotes").options(**options).load(),
        PipelineOptions(
            bench.folder / "checkpoint", bench.folder / "output", state_partitions=EXECUTORS
        ),
        Placement(EXECUTORS),
    )
    try:
        yield query
    finally:
        query.stop()


def _config(hosts: LocalHosts, folder: Path) -> Config:
    agents = [f"{host}=unix:{path}" for host, path in hosts.sockets.items()]
    return load_config(
        None,
        [
            'mode="advise"',
            f"executors.max={SPACE_EXECUTORS}",
            "horizon.step_s=1.0",
            "power.full_power_w=200",
            f"agents.urls={msgspec.json.encode(agents).decode()}",
            f"journal.folder={msgspec.json.encode(str(folder / 'journal')).decode()}",
        ],
    )


def _agents_cpu_s(hosts: LocalHosts) -> float:
    used = [psutil.Process(pid).cpu_times() for pid in hosts.pids.values()]
    return sum(times.user + times.system for times in used)
