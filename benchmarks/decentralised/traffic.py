"""Messages of the protocol: the paper's formula, its two worked cases, and the growth with nodes.

Source: Belkhiria and Tedeschi 2019, section 5.4. All counts are of messages that really arrived in
the simulation.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np

from benchmarks.decentralised.deployment import PipelineDeployment
from benchmarks.decentralised.experiment import BAND, CAPACITY, INITIAL_INSTANCES, OPERATORS, run
from benchmarks.decentralised.timed import PaperDelays, TimedNetwork
from mpc.decentralised.messages import Address
from mpc.decentralised.node import Guard, Stage
from mpc.values import FloatArray

LAST_LOAD = 6.0
"""Of a growing load, in multiples of the first."""


FORMULA_CASES = tuple(product((1, 2, 5, 9), (1, 3, 5, 12), (1, 4, 14), (1, 6, 16)))
"""Instances, new or deleted ones, successors, predecessors."""


@dataclass(frozen=True, slots=True)
class Growth:
    """One rising load: nodes and messages of every five steps in which instances were added."""

    nodes: FloatArray
    messages: FloatArray

    @property
    def exponent(self) -> float:
        """b of messages ~ nodes^b, by least squares of the logarithms."""
        return float(np.polyfit(np.log(self.nodes), np.log(self.messages), 1)[0])


def duplications_off_formula(guards: frozenset[Guard]) -> int:
    """Cases in which 2 min(k, n) (|succs| + |preds|) + k was not what was counted."""
    return sum(
        _duplication_messages(new, instances, succs, preds, guards)
        != 2 * min(new, instances) * (succs + preds) + new
        for instances, new, succs, preds in FORMULA_CASES
    )


def deletions_off_formula(guards: frozenset[Guard]) -> int:
    """The same for 2 d (|succs| + |preds|), d instances that delete themselves."""
    return sum(
        _deletion_messages(min(gone, instances - 1), instances, succs, preds, guards)
        != 2 * min(gone, instances - 1) * (succs + preds)
        for instances, gone, succs, preds in FORMULA_CASES
    )


def one_duplication(guards: frozenset[Guard]) -> int:
    """Messages of the step of one decision, with 16 predecessors and 14 successors."""
    network = _network(16, INITIAL_INSTANCES, 14, guards)
    network.scale_out(Address(1, 0), 1)
    network.deliver()
    return network.messages(network.step, 1)


def four_deletions(guards: frozenset[Guard]) -> int:
    """Messages of a step with one deletion, three more begun in the step before; 21 + 21."""
    network = _network(21, 5, 21, guards)
    for number in (1, 2, 3):
        network.scale_in(Address(1, number))
    network.deliver()
    network.next_step()
    network.scale_in(Address(1, 4))
    network.deliver()
    return network.messages(network.step, 1)


def steps_to_scale_out(guards: frozenset[Guard]) -> int:
    """From the step of the decision to that in which the new instance works, both counted."""
    network = _network(2, 2, 2, guards)
    network.scale_out(Address(1, 0), 1)
    network.deliver()
    new = network.deployment.alive(1)[-1]
    while new.stage is Stage.INACTIVE:
        network.next_step()
    return network.step


def steps_to_scale_in(guards: frozenset[Guard]) -> int:
    """From the step of the decision to that of the termination, both counted."""
    network = _network(2, 2, 2, guards)
    network.scale_in(Address(1, 1))
    network.deliver()
    while network.deployment.nodes[Address(1, 1)].stage is not Stage.TERMINATED:
        network.next_step()
    return network.step


def growing_loads(steps: int, geometric: bool) -> FloatArray:
    """The same rising load for every operator: by equal factors, or by equal amounts."""
    first = INITIAL_INSTANCES * BAND.target * CAPACITY
    rise = np.geomspace if geometric else np.linspace
    return np.repeat(rise(first, LAST_LOAD * first, steps)[:, None], OPERATORS, axis=1)


def growth(loads: FloatArray, generator: np.random.Generator, window_steps: int = 5) -> Growth:
    experiment = run(loads, generator)
    windows = len(loads) // window_steps
    shape = (windows, window_steps)
    nodes = experiment.instances.sum(axis=1)[: windows * window_steps].reshape(shape).mean(axis=1)
    messages = experiment.messages.sum(axis=1)[: windows * window_steps].reshape(shape).sum(axis=1)
    busy = messages > 0
    return Growth(nodes[busy], messages[busy].astype(np.float64))


def _duplication_messages(
    new: int, instances: int, succs: int, preds: int, guards: frozenset[Guard]
) -> int:
    """k new instances made by n: one each by k of them, or by all as evenly as it goes."""
    network = _network(preds, instances, succs, guards)
    each, more = divmod(new, instances)
    for number in range(instances):
        count = each + (number < more)
        if count:
            network.scale_out(Address(1, number), count)
    network.settle()
    return network.total_messages()


def _deletion_messages(
    gone: int, instances: int, succs: int, preds: int, guards: frozenset[Guard]
) -> int:
    network = _network(preds, instances, succs, guards)
    for number in range(1, gone + 1):
        network.scale_in(Address(1, number))
    network.settle()
    return network.total_messages()


def _network(preds: int, instances: int, succs: int, guards: frozenset[Guard]) -> TimedNetwork:
    """In its first step."""
    deployment = PipelineDeployment((preds, instances, succs), guards)
    network = TimedNetwork(deployment, PaperDelays())
    network.next_step()
    return network
