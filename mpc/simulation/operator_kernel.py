"""Discrete-event kernel of the paper's elastic operator (De Matteis and Mencagli 2016, sections 2.1
and 4.3).

Replicas are first-come-first-served servers that own keys. When the distribution table changes,
the state of a moved key follows the paper's protocol: a move-out message queues behind the tuples
its old replica already has; until it is reached, the new replica puts tuples of that key into a
pending buffer and goes on with others; then it rolls the buffer out before anything else.

Every move of a key starts a new *version* of it, and a tuple carries the version it was routed
by: it may be served only while the key's state is at that version, which also covers a key that
moves again before its state has arrived. All events are exact; nothing is discretised.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from forecasting.compiled import compiled
from mpc.values import FloatArray, IntArray

NONE = -1
IDLE = np.inf

# Sums of one step, in `step_sums`.
ARRIVALS, GAPS, GAP, GAP_SQUARED, COMPLETED, LATENCY, WAIT, CYCLES, CYCLES_SQUARED, BLOCKED = range(
    10
)

# Scalars that outlive a step, in `clock`.
NEXT_TRIGGER, LAST_ARRIVAL, BLOCKED_SINCE, BLOCKED_REPLICAS = range(4)


class OperatorState(NamedTuple):
    """Every array of the plant. Lists are linked through `next_node`; a node is a trigger or,
    from `triggers` on, the move-out message of one boundary and replica."""

    time_s: FloatArray
    key: IntArray
    cycles: FloatArray
    latency_s: FloatArray
    version: NDArray[np.int32]
    next_node: NDArray[np.int32]
    queue_head: NDArray[np.int32]
    queue_tail: NDArray[np.int32]
    queue_length: IntArray
    rollout_head: NDArray[np.int32]
    rollout_tail: NDArray[np.int32]
    pending_head: NDArray[np.int32]
    pending_tail: NDArray[np.int32]
    serving: NDArray[np.int32]
    started_s: FloatArray
    finish_s: FloatArray
    rolling: NDArray[np.int32]
    owner: IntArray
    latest_version: NDArray[np.int32]
    state_version: NDArray[np.int32]
    owner_of_version: NDArray[np.int16]
    left_version: NDArray[np.bool_]
    moved_version: NDArray[np.int32]
    """By boundary and key: the version that ended there, or NONE if the key stayed."""
    awake: NDArray[np.bool_]
    """Replicas that were handed a key and may have been idle."""
    clock: FloatArray
    step_sums: FloatArray
    key_cycles: FloatArray
    key_completed: IntArray


def new_state(
    time_s: FloatArray, key: IntArray, cycles: FloatArray, keys: int, replicas: int, steps: int
) -> OperatorState:
    triggers = len(time_s)
    nodes = triggers + (steps + 1) * replicas

    def nothing(size: int) -> NDArray[np.int32]:
        return np.full(size, NONE, dtype=np.int32)

    owner_of_version = np.zeros((keys, steps + 2), dtype=np.int16)
    clock = np.zeros(4)
    clock[LAST_ARRIVAL] = np.nan
    return OperatorState(
        time_s=time_s,
        key=key,
        cycles=cycles,
        latency_s=np.full(triggers, np.nan),
        version=np.zeros(triggers, dtype=np.int32),
        next_node=nothing(nodes),
        queue_head=nothing(replicas),
        queue_tail=nothing(replicas),
        queue_length=np.zeros(replicas, dtype=np.int64),
        rollout_head=nothing(replicas),
        rollout_tail=nothing(replicas),
        pending_head=nothing(keys),
        pending_tail=nothing(keys),
        serving=nothing(replicas),
        started_s=np.zeros(replicas),
        finish_s=np.full(replicas, IDLE),
        rolling=np.zeros(keys, dtype=np.int32),
        owner=np.zeros(keys, dtype=np.int64),
        latest_version=np.zeros(keys, dtype=np.int32),
        state_version=np.zeros(keys, dtype=np.int32),
        owner_of_version=owner_of_version,
        left_version=np.zeros((keys, steps + 2), dtype=np.bool_),
        moved_version=np.full((steps + 1, keys), NONE, dtype=np.int32),
        awake=np.zeros(replicas, dtype=np.bool_),
        clock=clock,
        step_sums=np.zeros(10),
        key_cycles=np.zeros(keys),
        key_completed=np.zeros(keys, dtype=np.int64),
    )


@compiled
def _append(
    head: NDArray[np.int32],
    tail: NDArray[np.int32],
    next_node: NDArray[np.int32],
    at: int,
    node: int,
) -> None:
    next_node[node] = NONE
    if head[at] == NONE:
        head[at] = node
    else:
        next_node[tail[at]] = node
    tail[at] = node


@compiled
def _enqueue(state: OperatorState, replica: int, node: int, capacity: int, now_s: float) -> None:
    _append(state.queue_head, state.queue_tail, state.next_node, replica, node)
    state.queue_length[replica] += 1
    if state.queue_length[replica] == capacity:
        if state.clock[BLOCKED_REPLICAS] == 0:
            state.clock[BLOCKED_SINCE] = now_s
        state.clock[BLOCKED_REPLICAS] += 1


@compiled
def _dequeue(state: OperatorState, replica: int, capacity: int, now_s: float) -> int:
    node = state.queue_head[replica]
    state.queue_head[replica] = state.next_node[node]
    state.queue_length[replica] -= 1
    if state.queue_length[replica] == capacity - 1:
        state.clock[BLOCKED_REPLICAS] -= 1
        if state.clock[BLOCKED_REPLICAS] == 0:
            state.step_sums[BLOCKED] += now_s - state.clock[BLOCKED_SINCE]
    return int(node)


@compiled
def _roll_out(state: OperatorState, key: int) -> int:
    """The state has reached its current version's owner: queue that version's pending tuples."""
    version = state.state_version[key]
    replica = state.owner_of_version[key, version]
    node = state.pending_head[key]
    state.pending_head[key] = NONE
    while node != NONE:
        following = state.next_node[node]
        if state.version[node] == version:
            _append(state.rollout_head, state.rollout_tail, state.next_node, replica, node)
            state.rolling[key] += 1
        else:
            _append(state.pending_head, state.pending_tail, state.next_node, key, node)
        node = following
    return int(replica)


@compiled
def _hand_over(state: OperatorState, key: int) -> bool:
    """Pass the state on as long as its replica has left it and served what was pending."""
    passed_on = False
    while state.left_version[key, state.state_version[key]] and state.rolling[key] == 0:
        state.state_version[key] += 1
        state.awake[_roll_out(state, key)] = True
        passed_on = True
    return passed_on


@compiled
def _move_out(state: OperatorState, replica: int, boundary: int) -> bool:
    """The replica has reached its move-out message: it gives away what it lost there."""
    passed_on = False
    for key in range(len(state.owner)):
        version = state.moved_version[boundary, key]
        if version != NONE and state.owner_of_version[key, version] == replica:
            state.left_version[key, version] = True
            passed_on |= _hand_over(state, key)
    return passed_on


@compiled
def _take_next(
    state: OperatorState, replica: int, now_s: float, frequency_hz: float, capacity: int
) -> bool:
    """Let an idle replica take its next tuple; True if it handed keys over while doing so."""
    triggers = len(state.time_s)
    passed_on = False
    while state.serving[replica] == NONE:
        node = state.rollout_head[replica]
        if node != NONE:
            state.rollout_head[replica] = state.next_node[node]
        elif state.queue_head[replica] != NONE:
            node = _dequeue(state, replica, capacity, now_s)
            if node >= triggers:
                passed_on |= _move_out(state, replica, (node - triggers) // len(state.serving))
                continue
            key = state.key[node]
            if state.version[node] != state.state_version[key]:
                _append(state.pending_head, state.pending_tail, state.next_node, key, node)
                continue
        else:
            break
        state.serving[replica] = node
        state.started_s[replica] = now_s
        state.finish_s[replica] = now_s + state.cycles[node] / frequency_hz
    return passed_on


@compiled
def _wake(state: OperatorState, now_s: float, frequency_hz: float, capacity: int) -> None:
    """Start idle replicas that were handed keys; they may hand further keys over in turn."""
    again = True
    while again:
        again = False
        for replica in range(len(state.serving)):
            if state.awake[replica]:
                state.awake[replica] = False
                again |= _take_next(state, replica, now_s, frequency_hz, capacity)


@compiled
def change_table(
    state: OperatorState,
    boundary: int,
    owner: IntArray,
    now_s: float,
    frequency_hz: float,
    capacity: int,
) -> int:
    """Route by a new table from now on and start the migration; returns the keys moved."""
    triggers = len(state.time_s)
    replicas = len(state.serving)
    leaves = np.zeros(replicas, dtype=np.bool_)
    moved = 0
    for key in range(len(owner)):
        if owner[key] == state.owner[key]:
            continue
        version = state.latest_version[key]
        state.moved_version[boundary, key] = version
        state.latest_version[key] = version + 1
        state.owner_of_version[key, version + 1] = owner[key]
        leaves[state.owner[key]] = True
        state.owner[key] = owner[key]
        moved += 1
    for replica in range(replicas):
        if leaves[replica]:
            _enqueue(state, replica, triggers + boundary * replicas + replica, capacity, now_s)
    for replica in range(replicas):
        state.awake[replica] = leaves[replica]
    _wake(state, now_s, frequency_hz, capacity)
    return moved


@compiled
def change_frequency(state: OperatorState, now_s: float, old_hz: float, new_hz: float) -> None:
    """The rest of every service in progress runs at the new frequency."""
    for replica in range(len(state.serving)):
        if state.serving[replica] != NONE:
            rest_s = state.finish_s[replica] - now_s
            state.finish_s[replica] = now_s + rest_s * old_hz / new_hz


@compiled
def run_until(state: OperatorState, end_s: float, frequency_hz: float, capacity: int) -> None:
    """Serve every event before `end_s`, in time order.

    Passing `state` on counts references of all its arrays, so the two common cases, a tuple that
    joins a queue and a replica that goes on with its next tuple, are written out here.
    """
    sums, clock = state.step_sums, state.clock
    time_s, keys, cycles, latencies_s = state.time_s, state.key, state.cycles, state.latency_s
    version, latest_version, state_version = (
        state.version,
        state.latest_version,
        state.state_version,
    )
    serving, started_s, finish_s = state.serving, state.started_s, state.finish_s
    queue_head, queue_tail, queue_length = state.queue_head, state.queue_tail, state.queue_length
    rollout_head, next_node, rolling = state.rollout_head, state.next_node, state.rolling
    owners, key_cycles, key_completed = state.owner, state.key_cycles, state.key_completed
    replicas = len(serving)
    triggers = len(time_s)
    upcoming = int(clock[NEXT_TRIGGER])
    while True:
        replica = 0
        for candidate in range(1, replicas):
            if finish_s[candidate] < finish_s[replica]:
                replica = candidate
        arrival_s = time_s[upcoming] if upcoming < triggers else IDLE
        now_s = min(arrival_s, finish_s[replica])
        if now_s >= end_s:
            break
        if arrival_s <= finish_s[replica]:
            key = keys[upcoming]
            version[upcoming] = latest_version[key]
            sums[ARRIVALS] += 1
            gap_s = arrival_s - clock[LAST_ARRIVAL]
            if gap_s >= 0:  # not before the first arrival, where it is not a number
                sums[GAPS] += 1
                sums[GAP] += gap_s
                sums[GAP_SQUARED] += gap_s * gap_s
            clock[LAST_ARRIVAL] = arrival_s
            replica = owners[key]
            if serving[replica] != NONE and queue_length[replica] < capacity - 1:
                next_node[upcoming] = NONE
                if queue_head[replica] == NONE:
                    queue_head[replica] = upcoming
                else:
                    next_node[queue_tail[replica]] = upcoming
                queue_tail[replica] = upcoming
                queue_length[replica] += 1
            elif serving[replica] == NONE and version[upcoming] == state_version[key]:
                serving[replica] = upcoming
                started_s[replica] = arrival_s
                finish_s[replica] = arrival_s + cycles[upcoming] / frequency_hz
            else:
                _enqueue(state, replica, upcoming, capacity, arrival_s)
                if serving[replica] == NONE and _take_next(
                    state, replica, arrival_s, frequency_hz, capacity
                ):
                    _wake(state, arrival_s, frequency_hz, capacity)
            upcoming += 1
            continue
        node = serving[replica]
        key = keys[node]
        latencies_s[node] = now_s - time_s[node]
        sums[COMPLETED] += 1
        sums[LATENCY] += now_s - time_s[node]
        sums[WAIT] += started_s[replica] - time_s[node]
        sums[CYCLES] += cycles[node]
        sums[CYCLES_SQUARED] += cycles[node] * cycles[node]
        key_cycles[key] += cycles[node]
        key_completed[key] += 1
        serving[replica] = NONE
        finish_s[replica] = IDLE
        waiting = queue_head[replica]
        if rolling[key] == 0 and rollout_head[replica] == NONE:
            if waiting == NONE:
                continue
            if (
                waiting < triggers
                and version[waiting] == state_version[keys[waiting]]
                and queue_length[replica] < capacity
            ):
                queue_head[replica] = next_node[waiting]
                queue_length[replica] -= 1
                serving[replica] = waiting
                started_s[replica] = now_s
                finish_s[replica] = now_s + cycles[waiting] / frequency_hz
                continue
        passed_on = False
        if rolling[key] > 0:  # what completed came out of the key's pending buffer
            rolling[key] -= 1
            passed_on = _hand_over(state, key)
        if _take_next(state, replica, now_s, frequency_hz, capacity) or passed_on:
            _wake(state, now_s, frequency_hz, capacity)
    clock[NEXT_TRIGGER] = upcoming
