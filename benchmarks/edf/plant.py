"""The running query, tuple by tuple: every operator a set of first-in-first-out replicas.

Time advances from one planning round to the next, operator by operator in topological order. A
tuple's replica follows from its key. What a replica has not begun when a round ends stays in the
operator's queue, so that a reconfiguration deals it out anew; a paused operator queues what comes
in (pause and resume, Cardellini et al. 2018, section 3.3).

A tuple's response time adds up what it spends in operators and on the way between them. Waiting
for the metronome is part of the window and not counted: the paper's figures leave no room for it.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from benchmarks.edf.cluster import QueryDeployment
from benchmarks.edf.query import METRONOME_S, Operator, Query
from forecasting.compiled import compiled
from mpc.policies.edf.values import OperatorSample
from mpc.values import FloatArray, IntArray


@dataclass(frozen=True, slots=True)
class Tuples:
    """Tuples on their way into an operator, by time of arrival."""

    arrivals_s: FloatArray
    path_s: FloatArray
    """Response time so far."""
    keys: FloatArray
    """In [0, 1): the partition of the state a tuple belongs to."""

    def __len__(self) -> int:
        return len(self.arrivals_s)

    def taken(self, which: IntArray | NDArray[np.bool_] | slice) -> "Tuples":
        return Tuples(self.arrivals_s[which], self.path_s[which], self.keys[which])

    def after(self, others: "Tuples") -> "Tuples":
        return Tuples(
            np.concatenate((others.arrivals_s, self.arrivals_s)),
            np.concatenate((others.path_s, self.path_s)),
            np.concatenate((others.keys, self.keys)),
        )

    def in_order(self) -> "Tuples":
        if len(self) < 2 or bool((np.diff(self.arrivals_s) >= 0).all()):
            return self
        return self.taken(np.argsort(self.arrivals_s, kind="stable"))


NONE = Tuples(np.empty(0), np.empty(0), np.empty(0))


@dataclass(frozen=True, slots=True)
class Round:
    """What was measured between two planning rounds."""

    samples: dict[str, OperatorSample]
    finished_s: FloatArray
    """When results left the query."""
    response_s: FloatArray
    """Response time of the application for each of them."""

    @property
    def utilisations(self) -> dict[str, tuple[float, ...]]:
        return {name: sample.utilisations or () for name, sample in self.samples.items()}

    @property
    def mean_response_s(self) -> float | None:
        return float(self.response_s.mean()) if len(self.response_s) else None


class QueryPlant:
    def __init__(self, query: Query, deployment: QueryDeployment, generator: np.random.Generator):
        self._query = query
        self.deployment = deployment
        self._generator = generator
        self._queues = {operator.name: NONE for operator in query}
        self._incoming = {operator.name: NONE for operator in query}
        self._free_s = {operator.name: np.zeros(1) for operator in query}
        self._slowdown = np.ones(len(deployment.other_cores))
        _serve(np.zeros(1), np.zeros(1), np.ones(1), np.zeros(1), 0.0)  # Compiles.

    def pause(self, operators: set[str], until_s: float) -> None:
        """Stop operators for a reconfiguration of the deployment that was just carried out."""
        for name in operators:
            self._free_s[name] = np.full(len(self.deployment.placed[name]), until_s)

    def advance(self, start_s: float, end_s: float, emitted_s: FloatArray) -> Round:
        """`emitted_s`: when the data source emits, within the round."""
        samples = {}
        finished = NONE
        for operator in self._query:
            if operator.service_s == 0.0:
                utilisations = (0.0,) * len(self.deployment.placed[operator.name])
                samples[operator.name] = OperatorSample(len(utilisations), utilisations)
                if operator.name == "dataSource":
                    keys = self._generator.random(len(emitted_s))
                    self._send(operator, Tuples(emitted_s, np.zeros(len(keys)), keys))
                continue
            sample, results = self._operate(operator, start_s, end_s)
            samples[operator.name] = sample
            if not self._send(operator, results):
                finished = results
        record = Round(samples, finished.arrivals_s, finished.path_s)
        self._slowdown = self.deployment.slowdown(record.utilisations)
        return record

    def _operate(
        self, operator: Operator, start_s: float, end_s: float
    ) -> tuple[OperatorSample, Tuples]:
        """Serve what can be begun before the round ends; results carry the time they leave."""
        name = operator.name
        incoming = self._incoming[name].in_order()
        arrived = int(np.searchsorted(incoming.arrivals_s, end_s))
        self._incoming[name] = incoming.taken(slice(arrived, None))
        queue = incoming.taken(slice(arrived)).after(self._queues[name])
        nodes = self.deployment.placed[name]
        factors = operator.service_s * self._slowdown[nodes]
        services = factors[(queue.keys * len(nodes)).astype(np.int64)]
        services *= self._generator.standard_exponential(len(queue))
        finish_s, busy_s = _serve(queue.arrivals_s, queue.keys, services, self._free_s[name], end_s)
        started = np.isfinite(finish_s)
        self._queues[name] = queue.taken(~started)
        served = queue.taken(started)
        leaving_s = finish_s[started]
        responses_s = leaving_s - served.arrivals_s
        sample = OperatorSample(
            replicas=len(nodes),
            utilisations=tuple(min(float(busy) / (end_s - start_s), 1.0) for busy in busy_s),
            arrivals_per_s=arrived / (end_s - start_s),
            response_s=float(responses_s.mean()) if len(responses_s) else None,
        )
        if operator.periodic:
            leaving_s = np.ceil(leaving_s / METRONOME_S) * METRONOME_S
        return sample, Tuples(leaving_s, served.path_s + responses_s, served.keys)

    def _send(self, operator: Operator, results: Tuples) -> bool:
        """To every operator downstream; False when there is none."""
        downstream = [other for other in self._query if operator.name in other.upstream]
        if operator.passed_on < 1.0:
            results = results.taken(self._generator.random(len(results)) < operator.passed_on)
        for other in downstream:
            hop_s = self.deployment.hop_s(operator.name, other.name)
            sent = Tuples(results.arrivals_s + hop_s, results.path_s + hop_s, results.keys)
            self._incoming[other.name] = sent.after(self._incoming[other.name])
        return bool(downstream)


@compiled
def _serve(
    arrivals_s: FloatArray,
    keys: FloatArray,
    services_s: FloatArray,
    free_s: FloatArray,
    end_s: float,
) -> tuple[FloatArray, FloatArray]:
    """Finishing times, infinite for tuples not begun before `end_s`, and busy time of every
    replica. `free_s`, when each is next free, is carried on in place."""
    replicas = len(free_s)
    finish_s = np.full(len(arrivals_s), np.inf)
    busy_s = np.zeros(replicas)
    for position in range(len(arrivals_s)):
        replica = int(keys[position] * replicas)
        begin_s = max(arrivals_s[position], free_s[replica])
        if begin_s < end_s:
            finish_s[position] = begin_s + services_s[position]
            free_s[replica] = finish_s[position]
            busy_s[replica] += services_s[position]
    return finish_s, busy_s
