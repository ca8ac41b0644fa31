"""The event-exact plant against a slow reference that is written from the paper's text alone."""

from collections import deque
from dataclasses import dataclass, field

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mpc.balance import balanced
from mpc.simulation.operator import OperatorPlant
from mpc.simulation.paper_machine import core_power
from mpc.simulation.trace import TriggerTrace
from mpc.values import Configuration, ConfigurationSpace, FloatArray, IntArray

SPACE = ConfigurationSpace(1, 3, (1_000_000, 2_000_000))
KEYS = 4


@dataclass
class Replica:
    """Sections 2.1 and 4.3 of De Matteis and Mencagli 2016, one object a replica."""

    queue: deque[tuple[str, int]] = field(default_factory=deque)
    roll_out: deque[int] = field(default_factory=deque)
    serving: int | None = None
    left_cycles: float = 0.0


class Reference:
    """Advances from event to event with remaining cycles; no versions, no fast paths."""

    def __init__(self, trace: TriggerTrace, owners: IntArray, start: Configuration) -> None:
        self.trace = trace
        self.replicas = [Replica() for _ in range(SPACE.max_executors)]
        self.owner = [int(owner) for owner in owners]
        self.route: list[list[int]] = [[int(owner)] for owner in owners]
        """Every key's owners so far; its state walks along this list."""
        self.at = [0] * KEYS
        self.leave = [set[int]() for _ in range(KEYS)]
        self.tagged: dict[int, int] = {}
        self.pending: list[list[int]] = [[] for _ in range(KEYS)]
        self.finish: dict[int, float] = {}
        self.hz = start.frequency_khz * 1e3
        self.now = 0.0
        self.arrived = 0

    def change(self, owners: IntArray, hz: float) -> None:
        self.hz = hz
        losers: dict[int, list[tuple[int, int]]] = {}
        for key in range(KEYS):
            if int(owners[key]) != self.owner[key]:
                losers.setdefault(self.owner[key], []).append((key, len(self.route[key]) - 1))
                self.route[key].append(int(owners[key]))
                self.owner[key] = int(owners[key])
        for loser, moves in losers.items():
            for key, version in moves:
                self.replicas[loser].queue.append((f"out {version}", key))
        self._settle()

    def _settle(self) -> None:
        """Let idle replicas take work and states move until nothing changes."""
        moved = True
        while moved:
            moved = False
            for key in range(KEYS):
                here = self.at[key]
                rolling = any(
                    self.trace.key[t] == key
                    for replica in self.replicas
                    for t in [
                        *replica.roll_out,
                        *([] if replica.serving is None else [replica.serving]),
                    ]
                    if self.tagged[t] == here
                )
                if here in self.leave[key] and not rolling:
                    self.at[key] += 1
                    arrived = [t for t in self.pending[key] if self.tagged[t] == here + 1]
                    self.pending[key] = [t for t in self.pending[key] if t not in arrived]
                    self.replicas[self.route[key][here + 1]].roll_out.extend(arrived)
                    moved = True
            for replica in self.replicas:
                moved |= self._take(replica)

    def _take(self, replica: Replica) -> bool:
        if replica.serving is not None:
            return False
        if replica.roll_out:
            self._serve(replica, replica.roll_out.popleft())
            return True
        if not replica.queue:
            return False
        what, item = replica.queue.popleft()
        if what.startswith("out"):
            self.leave[item].add(int(what.split()[1]))
        elif self.tagged[item] == self.at[int(self.trace.key[item])]:
            self._serve(replica, item)
        else:
            self.pending[int(self.trace.key[item])].append(item)
        return True

    def _serve(self, replica: Replica, trigger: int) -> None:
        replica.serving = trigger
        replica.left_cycles = float(self.trace.points[trigger])

    def run_until(self, end: float) -> None:
        while True:
            busy = [replica for replica in self.replicas if replica.serving is not None]
            done = min(
                (self.now + replica.left_cycles / self.hz for replica in busy), default=np.inf
            )
            more = self.arrived < len(self.trace.time_s)
            arrival = float(self.trace.time_s[self.arrived]) if more else np.inf
            moment = min(done, arrival, end)
            for replica in busy:
                replica.left_cycles -= (moment - self.now) * self.hz
            self.now = moment
            if moment >= end:
                return
            if arrival <= done:
                key = int(self.trace.key[self.arrived])
                self.tagged[self.arrived] = len(self.route[key]) - 1
                self.replicas[self.owner[key]].queue.append(("tuple", self.arrived))
                self.arrived += 1
            else:
                finished = min(busy, key=lambda replica: replica.left_cycles)
                assert finished.serving is not None
                self.finish[finished.serving] = moment
                finished.serving = None
            self._settle()


def small_trace(gaps: list[float], keys: list[int], cycles: list[float]) -> TriggerTrace:
    time_s = np.cumsum(np.asarray(gaps, dtype=np.float64))
    duration_s = float(np.ceil(time_s[-1])) + 1.0
    return TriggerTrace(
        time_s=time_s,
        key=np.asarray(keys, dtype=np.int64),
        points=np.asarray(cycles, dtype=np.float64),
        key_counts=np.ones((int(duration_s), KEYS), dtype=np.int64),
        duration_s=duration_s,
    )


triggers = st.lists(
    st.tuples(st.floats(0.001, 0.4), st.integers(0, KEYS - 1), st.floats(1e7, 1.2e9)),
    min_size=1,
    max_size=60,
)
decisions = st.lists(
    st.tuples(st.integers(1, 3), st.sampled_from(SPACE.frequencies_khz), st.integers(0, 2**31)),
    min_size=30,
    max_size=30,
)


@given(triggers, decisions)
def test_every_latency_equals_the_reference(
    drawn: list[tuple[float, int, float]], moves: list[tuple[int, int, int]]
) -> None:
    """Random arrivals, costs, tables and frequencies, overload and double migrations included."""
    trace = small_trace(*(list(column) for column in zip(*drawn, strict=True)))
    start = SPACE.largest
    plant = OperatorPlant(trace, SPACE, core_power(), cycles_per_point=1.0, start=start)
    even: FloatArray = np.full(KEYS, 1.0 / KEYS)
    reference = Reference(trace, balanced(even, start.executors), start)
    step = 0
    while plant.wait_for_step():
        step += 1
        reference.run_until(float(step))
        executors, frequency_khz, seed = moves[step % len(moves)]
        owners = np.random.default_rng(seed).integers(0, executors, KEYS)
        plant.steer(Configuration(executors, frequency_khz), owners)
        reference.change(owners, frequency_khz * 1e3)
    expected = [reference.finish[t] - trace.time_s[t] for t in sorted(reference.finish)]
    np.testing.assert_allclose(np.sort(plant.result_latencies_s), np.sort(expected), rtol=1e-9)
    assert plant.unfinished == reference.arrived - len(reference.finish)


def test_tuples_of_one_key_never_overtake_each_other_when_it_moves() -> None:
    """A moved key waits for its old replica to drain, and other keys do not wait for it."""
    # Key 0 has one long service on replica 0 over the step boundary, then a tuple after the move.
    trace = small_trace([0.9, 0.2, 0.01], [0, 0, 1], [1e9, 1e7, 1e7])
    plant = OperatorPlant(trace, SPACE, core_power(), 1.0, start=Configuration(2, 2_000_000))
    plant.wait_for_step()
    plant.steer(Configuration(2, 2_000_000), np.asarray([1, 1, 0, 0], dtype=np.int64))
    plant.wait_for_step()
    latencies = plant.result_latencies_s
    assert latencies[0] == pytest.approx(0.5)
    # Arrived at 1.1, the state came at 1.4, served 5 ms at 2 GHz.
    assert latencies[1] == pytest.approx(0.3 + 0.005)
    assert latencies[2] == pytest.approx(0.005)


def test_a_key_that_moves_on_before_its_state_came_is_served_in_order() -> None:
    """Replica 0 is busy for 3 s; key 0 moves to 1 and on to 2, with a tuple pending at each."""
    trace = small_trace([0.5, 1.0, 1.0, 3.0], [3, 0, 0, 2], [3e9, 5e8, 2e8, 1e7])
    start = Configuration(3, 1_000_000)
    plant = OperatorPlant(trace, SPACE, core_power(), 1.0, start=start)
    for owner in (1, 2, 2, 2, 2, 2, 2):
        plant.wait_for_step()
        owners = np.asarray([owner, 1, 2, 0], dtype=np.int64)
        plant.steer(start, owners)
    # The state leaves 0 at 3.5, stays at 1 until its tuple is done at 4.0, and then goes to 2.
    assert plant.result_latencies_s.tolist() == pytest.approx([3.0, 2.5, 1.7, 0.01])


def test_a_measurement_has_the_rows_of_table_1() -> None:
    trace = small_trace([0.1, 0.2, 0.3], [0, 1, 1], [1e8, 2e8, 4e8])
    plant = OperatorPlant(trace, SPACE, core_power(), 1.0, start=Configuration(3, 1_000_000))
    with pytest.raises(RuntimeError, match="wait_for_step"):
        plant.measure(plant.watch()[0])
    plant.wait_for_step()
    measured, _ = plant.measure(plant.watch()[0])
    assert measured.arrivals_per_s == 3.0
    assert measured.completions_per_s == 2.0
    assert measured.cost_cycles == pytest.approx(1.5e8)
    assert measured.arrival_cv == pytest.approx(np.std([0.2, 0.3]) / 0.25)
    assert measured.key_cost_cycles is not None
    assert measured.key_cost_cycles[0] == pytest.approx(1e8)
    assert measured.key_cost_cycles[1] == pytest.approx(2e8)
    assert measured.key_cost_cycles[2] == pytest.approx(1.5e8)  # not sampled: the mean


def test_a_change_of_executors_without_a_table_is_balanced_by_the_plant() -> None:
    trace = small_trace([0.1, 0.1, 0.1, 1.0], [0, 1, 2, 3], [1e6, 1e6, 1e6, 1e6])
    plant = OperatorPlant(trace, SPACE, core_power(), 1.0)
    plant.wait_for_step()
    applied, _ = plant.steer(Configuration(1, 1_000_000))
    assert applied.observed == Configuration(1, 1_000_000)
    while plant.wait_for_step():
        pass
    assert plant.unfinished == 0


def test_a_table_for_other_executors_is_refused() -> None:
    plant = OperatorPlant(small_trace([0.1], [0], [1e6]), SPACE, core_power(), 1.0)
    plant.wait_for_step()
    with pytest.raises(ValueError, match=r"within 0\.\.0"):
        plant.steer(Configuration(1, 1_000_000), np.ones(KEYS, dtype=np.int64))
