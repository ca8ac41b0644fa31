"""What every cluster behind the port of the control loop must do, whatever stands behind it.

The same checks run over the cluster in memory, the simulated plant and a real Spark cluster.
Waits are for conditions; a bench says how time passes on its cluster.
"""

from collections.abc import Callable, Sequence
from typing import Protocol

from mpc.events import Event
from mpc.ports import Cluster
from mpc.values import Applied, Configuration

LONGEST_STEPS = 1000


class ClusterBench(Protocol):
    """A cluster under test that begins with one executor and can have two."""

    @property
    def cluster(self) -> Cluster: ...

    @property
    def frequency_khz(self) -> int: ...

    def advance(self) -> None:
        """Let about a step pass."""
        ...

    def touched(self) -> Sequence[object]:
        """Everything that was done to executors and frequencies so far."""
        ...


def steer_until(bench: ClusterBench, executors: int) -> list[Event]:
    target = Configuration(executors, bench.frequency_khz)
    events: list[Event] = []
    for _ in range(LONGEST_STEPS):
        applied, seen = bench.cluster.steer(target)
        events += seen
        assert applied.requested.executors >= 1
        if applied == Applied(target, target):
            return events
        bench.advance()
    raise AssertionError(f"{executors} executors were not reached: {applied}")


def check_steering_leads_to_the_target(bench: ClusterBench) -> None:
    steer_until(bench, 2)
    steer_until(bench, 1)


def check_steering_again_orders_nothing_more(bench: ClusterBench) -> None:
    steer_until(bench, 2)
    before = list(bench.touched())
    for _ in range(5):
        bench.cluster.steer(Configuration(2, bench.frequency_khz))
        bench.advance()
    assert list(bench.touched()) == before
    steer_until(bench, 1)


def check_watching_says_what_steering_said(bench: ClusterBench) -> None:
    steer_until(bench, 1)
    applied, _ = bench.cluster.steer(Configuration(1, bench.frequency_khz))
    watched, _ = bench.cluster.watch()
    assert watched == applied


def check_watching_touches_nothing(bench: ClusterBench) -> None:
    """Neither before the first order, nor while executors start, nor while they drain."""
    _watch(bench, steps=3)
    bench.cluster.steer(Configuration(2, bench.frequency_khz))
    _watch(bench, steps=3)
    steer_until(bench, 2)
    bench.cluster.steer(Configuration(1, bench.frequency_khz))
    _watch(bench, steps=8)
    steer_until(bench, 1)


def check_a_pause_in_the_middle_of_a_change_is_continued_after_it(bench: ClusterBench) -> None:
    bench.cluster.steer(Configuration(2, bench.frequency_khz))
    bench.cluster.steer(Configuration(1, bench.frequency_khz))
    _watch(bench, steps=8)
    steer_until(bench, 1)


def check_a_measurement_is_of_what_ran(bench: ClusterBench) -> None:
    ran, _ = bench.cluster.watch()
    bench.advance()
    measured, _ = bench.cluster.measure(ran)
    assert (measured.requested, measured.observed) == (ran.requested, ran.observed)
    assert measured.startup_s is None or measured.startup_s >= 0.0
    assert measured.useful_executors is None or measured.useful_executors >= 1


def _watch(bench: ClusterBench, steps: int) -> None:
    before = list(bench.touched())
    requested = bench.cluster.watch()[0].requested
    for _ in range(steps):
        bench.advance()
        assert bench.cluster.watch()[0].requested == requested
    assert list(bench.touched()) == before


CHECKS: tuple[Callable[[ClusterBench], None], ...] = (
    check_a_measurement_is_of_what_ran,
    check_steering_leads_to_the_target,
    check_steering_again_orders_nothing_more,
    check_watching_says_what_steering_said,
    check_watching_touches_nothing,
    check_a_pause_in_the_middle_of_a_change_is_continued_after_it,
)
