"""The protocol in steps of time: every message takes so many steps, and channels keep the order.

The paper's simulator (Belkhiria and Tedeschi 2019, section 5.1) hands the first message of an
operation over in the step of its decision and every other one in the next. Messages are counted in
the step in which they arrive, by the operator whose operation they belong to; section 5.4 counts
the same way.
"""

import heapq
import math
from collections import Counter
from collections.abc import Sequence
from typing import Protocol

import numpy as np

from benchmarks.decentralised.deployment import PipelineDeployment
from mpc.decentralised.messages import Activation, Address, Deletion, Duplication, Envelope


class Delays(Protocol):
    def steps(self, with_decision: bool, /) -> int:
        """How long the next message takes."""
        ...


class PaperDelays:
    """None for what is sent with a decision, one step for the rest."""

    def steps(self, with_decision: bool, /) -> int:
        return 0 if with_decision else 1


class RandomDelays:
    """Log-normal: most messages are quick and some take many times the mean."""

    _SPREAD = 1.5

    def __init__(self, mean_steps: float, generator: np.random.Generator) -> None:
        self._log_median = math.log(mean_steps) - self._SPREAD**2 / 2
        self._generator = generator

    def steps(self, _with_decision: bool, /) -> int:
        return round(float(self._generator.lognormal(self._log_median, self._SPREAD)))


class TimedNetwork:
    def __init__(self, deployment: PipelineDeployment, delays: Delays) -> None:
        self.deployment = deployment
        self._delays = delays
        self._step = 0
        self._under_way: list[tuple[int, int, Envelope]] = []
        self._sent = 0
        self._latest: dict[tuple[Address, Address], int] = {}
        self._arrived: Counter[tuple[int, int]] = Counter()

    @property
    def quiet(self) -> bool:
        return not self._under_way

    @property
    def step(self) -> int:
        return self._step

    def messages(self, step: int, operator: int | None = None) -> int:
        """Those that arrived in a step, of one operator's operations or of all."""
        if operator is not None:
            return self._arrived[step, operator]
        return sum(self._arrived[step, each] for each in self.deployment.operators)

    def total_messages(self) -> int:
        return self._arrived.total()

    def next_step(self) -> None:
        """Begin the next step; what is due in it arrives."""
        self._step += 1
        self.deliver()

    def deliver(self) -> None:
        while self._under_way and self._under_way[0][0] <= self._step:
            _, _, envelope = heapq.heappop(self._under_way)
            self._arrived[self._step, _operator_of(envelope)] += 1
            node = self.deployment.nodes[envelope.receiver]
            self._post(node.receive(envelope.sender, envelope.body), with_decision=False)

    def scale_out(self, address: Address, count: int) -> None:
        self._post(self.deployment.scale_out(address, count), with_decision=True)

    def scale_in(self, address: Address) -> None:
        self._post(self.deployment.scale_in(address), with_decision=True)

    def settle(self) -> None:
        """Steps without new decisions until nothing is under way."""
        while not self.quiet:
            self.next_step()

    def _post(self, envelopes: Sequence[Envelope], with_decision: bool) -> None:
        for envelope in envelopes:
            channel = envelope.sender, envelope.receiver
            arrival = self._step + self._delays.steps(with_decision)
            arrival = max(arrival, self._latest.get(channel, 0))
            self._latest[channel] = arrival
            heapq.heappush(self._under_way, (arrival, self._sent, envelope))
            self._sent += 1


def _operator_of(envelope: Envelope) -> int:
    """Whose operation a message belongs to: an acknowledgement goes to it, the rest comes from."""
    from_it = isinstance(envelope.body, Duplication | Deletion | Activation)
    return (envelope.sender if from_it else envelope.receiver).operator
