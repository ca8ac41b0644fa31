"""One experiment of Cardellini et al. 2018, section 9: the query, its managers and twelve hours of
taxi rides.

Every 30 s operator and node managers ask for reconfigurations and the application manager grants
some. The operators concerned are paused, all at the same time, and the loops rest for a while.

The paper says neither how long a reconfiguration takes nor how long the loops rest ("a short
period"). Here it takes 15 s and all of them, the application manager's too, rest for the two
minutes after it that the paper leaves out of its figures: if only the operators concerned did, one
of five could always reconfigure and nothing would be left to take figures from. 15 s at most every
150 s is also what the paper's 11 % of downtime for Q-learning comes to, so that row's downtime is
no prediction. As in the paper, figures leave out the first half hour and two minutes after each
reconfiguration; downtime leaves out only the first half hour.
"""

from dataclasses import dataclass

import numpy as np

from benchmarks.edf.choices import EdfChoice, Figures
from benchmarks.edf.cluster import NODES, QueryDeployment
from benchmarks.edf.monitor import Monitor
from benchmarks.edf.plant import QueryPlant, Round
from benchmarks.edf.query import TARGET_S, TOP_ROUTES
from benchmarks.edf.workload import TaxiRates
from mpc.policies.edf.application_manager import ApplicationManager, BucketParameters, TokenBucket
from mpc.policies.edf.node_manager import NodeManager, choose_node, replica_to_end
from mpc.policies.edf.values import ClusterView, Request, ScaleIn, ScaleOut

ROUND_S = 30.0


@dataclass(frozen=True, slots=True)
class EdfSetting:
    hours: float = 12.0
    downtime_s: float = 15.0
    settle_s: float = 120.0
    excluded_s: float = 120.0
    warm_up_s: float = 1800.0
    other_cores: tuple[float, ...] = (0.0,) * NODES
    """Load of other tenants on the nodes."""
    migration: bool = False
    """Whether node managers act; they do not in the paper's experiments."""


@dataclass(frozen=True, slots=True)
class EdfOutcome:
    figures: Figures | None
    """None when no moment was undisturbed."""
    unmet_percent: float
    """Moments over the target or without a result, those left out of the figures too."""
    reconfigurations: int
    """Rounds with a granted request; the first half hour does not count here nor below."""
    requested: int
    granted: int
    replicas: tuple[int, ...]
    """During every round, from the beginning."""


def run(
    choice: EdfChoice, rates: TaxiRates, seed: int, setting: EdfSetting | None = None
) -> EdfOutcome:
    return _Experiment(choice, rates, seed, setting or EdfSetting()).run()


class _Experiment:
    def __init__(self, choice: EdfChoice, rates: TaxiRates, seed: int, setting: EdfSetting) -> None:
        # The same seed means the same rides for every policy.
        self._rides, service, self._chance = np.random.default_rng(seed).spawn(3)
        self._rates = rates
        self._setting = setting
        self._deployment = QueryDeployment.smallest(TOP_ROUTES, setting.other_cores)
        self._plant = QueryPlant(TOP_ROUTES, self._deployment, service)
        self._locals = {
            operator.name: choice.policy(operator, self._chance)
            for operator in TOP_ROUTES
            if operator.managed
        }
        self._nodes = [NodeManager(node, self._chance) for node in range(NODES)]
        self._application = ApplicationManager(
            TokenBucket(BucketParameters.of_target(TARGET_S)) if choice.bucket else None
        )

    def run(self) -> EdfOutcome:
        setting = self._setting
        monitor = Monitor(setting.hours * 3600.0)
        changes_s: list[float] = []
        resumed_s = -np.inf
        requested = granted = 0
        for number in range(round(setting.hours * 3600.0 / ROUND_S)):
            start_s, end_s = number * ROUND_S, (number + 1) * ROUND_S
            emitted_s = self._rates.arrivals(start_s, end_s, self._rides)
            record = self._plant.advance(start_s, end_s, emitted_s)
            monitor.add(record, self._deployment.replicas)
            if end_s < resumed_s + setting.settle_s:
                continue
            requests = self._requests(record)
            allowed = self._application.grant(end_s, record.mean_response_s, requests)
            for request in allowed:
                self._deployment.carry_out(request)
            if allowed:
                resumed_s = end_s + setting.downtime_s
                self._plant.pause({one.operator for one in allowed}, resumed_s)
                changes_s.append(end_s)
            if end_s >= setting.warm_up_s:
                requested += len(requests)
                granted += len(allowed)
        return EdfOutcome(
            monitor.figures(setting.warm_up_s, changes_s, setting.downtime_s, setting.excluded_s),
            monitor.unmet_percent(setting.warm_up_s),
            sum(time_s >= setting.warm_up_s for time_s in changes_s),
            requested,
            granted,
            tuple(monitor.replicas),
        )

    def _requests(self, record: Round) -> list[Request]:
        cluster = self._deployment.view(record.utilisations)
        requests = [
            request
            for name in self._locals
            if (request := self._scaling(name, record, cluster)) is not None
        ]
        if not self._setting.migration:
            return requests
        moves = [
            manager.propose(cluster, self._movable(node))
            for node, manager in enumerate(self._nodes)
        ]
        return requests + [move for move in moves if move is not None]

    def _scaling(self, name: str, record: Round, cluster: ClusterView) -> Request | None:
        proposal = self._locals[name].propose(record.samples[name])
        nodes = self._deployment.placed[name]
        if proposal.change == 0:
            return None
        if proposal.change < 0:
            return ScaleIn(name, proposal.score, replica_to_end(cluster, tuple(nodes)))
        node = choose_node(cluster, nodes[0], self._chance)
        return None if node is None else ScaleOut(name, proposal.score, node)

    def _movable(self, node: int) -> list[tuple[str, int]]:
        """Sources and sinks stay where they are: only operators with a manager move."""
        return [
            (name, replica)
            for name, replica in self._deployment.hosted(node)
            if name in self._locals
        ]
