"""The contract of clusters on the one in memory and on the simulated plants."""

from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest

from energy.power import ProportionalPower
from mpc.events import EventKind
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.values import Configuration
from runtime.control.holds import pause
from runtime.control.journal import StepRecord
from tests.contracts.clusters import CHECKS, ClusterBench
from tests.runtime.control.cluster import LoopRun
from tests.runtime.spark.fake_scheduler import FakeScheduler
from tests.support.memory_cluster import HIGHEST_KHZ, FakeFleet, MemoryCluster, WaveSensor

GRACE_STEPS_S = 10.0


class MemoryBench:
    """Executors take three seconds to come and one to go, or never end by themselves."""

    frequency_khz = HIGHEST_KHZ

    def __init__(self, drain_s: float = 1.0) -> None:
        self.scheduler = FakeScheduler(drain_s=drain_s)
        self.scheduler.launch(1)
        self.fleet = FakeFleet()
        self.cluster = MemoryCluster(self.scheduler, WaveSensor(), self.fleet, max_executors=2)

    def advance(self) -> None:
        self.scheduler.advance(GRACE_STEPS_S)

    def touched(self) -> Sequence[object]:
        # Agents are asked for the same frequency at every step that steers.
        return [*self.scheduler.orders, *dict.fromkeys(self.fleet.requests)]


class PlantBench:
    frequency_khz = 2_000_000

    def __init__(self) -> None:
        self.cluster = MicroBatchPlant(
            np.full(2000, 50.0),
            MicroBatchTraits(overhead_s=0.1, row_cycles=1e6, startup_s=3.0),
            ProportionalPower(),
            Configuration(1, self.frequency_khz),
            np.random.default_rng(1),
        )
        self._seen = [self._state()]
        self.advance()

    def advance(self) -> None:
        assert self.cluster.wait_for_step()

    def touched(self) -> Sequence[object]:
        """Changes of what was asked of it; a plant keeps no list of orders."""
        if self._state() != self._seen[-1]:
            self._seen.append(self._state())
        return tuple(self._seen)

    def _state(self) -> object:
        return self.cluster._requested, self.cluster._pool._target


BENCHES: dict[str, Callable[[], ClusterBench]] = {
    "memory": MemoryBench,
    "memory, executors that do not end": lambda: MemoryBench(drain_s=1e9),
    "simulated": PlantBench,
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__.removeprefix("check_"))
@pytest.mark.parametrize("name", BENCHES)
def test_every_cluster_keeps_the_contract(name: str, check: Callable[[ClusterBench], None]) -> None:
    check(BENCHES[name]())


def test_a_paused_loop_touches_nothing_in_the_middle_of_a_scale_in(tmp_path: Path) -> None:
    """Executors drain and do not end, and somebody adds two by hand."""
    scheduler = FakeScheduler(start_s=0.0, drain_s=1e9)
    scheduler.launch(6)
    orders: list[object] = []

    def between(record: StepRecord) -> None:
        scheduler.advance(30.0 if record.measurement.step > 3 else 0.5)
        if record.measurement.step == 3:
            assert scheduler.draining(), "the scale-in has begun"
            orders.extend(scheduler.orders)
            assert pause(tmp_path, 1.0)
        if record.measurement.step == 6:
            scheduler.launch(len(scheduler.cluster) + 2)

    run = LoopRun(
        tmp_path,
        ("executors.max=8", "policy=static-2", "slo.latency_ms=60000"),
        scheduler=scheduler,
        fleet=None,
        on_step=between,
        steps=15,
    )
    seen = run.run()
    paused = [record for record in seen if record.measurement.step > 3]
    assert len(paused) == 11
    assert all(
        EventKind.HELD_PAUSED in {event.kind for event in record.events} for record in paused
    )
    assert scheduler.orders == orders
