"""The rows of Table 1 of Cardellini et al. 2018: local policies with their parameters, with and
without bucket, and the figures the paper reports for them."""

from dataclasses import dataclass
from typing import Literal

import numpy as np

from benchmarks.edf.query import Operator
from mpc.policies.edf.learning import LearningParameters
from mpc.policies.edf.model_based import ModelBasedScaling
from mpc.policies.edf.q_learning import QLearningScaling
from mpc.policies.edf.threshold import ThresholdParameters, ThresholdScaling
from mpc.policies.edf.values import LocalPolicy

Weights = Literal["perf = res = 2 rcf", "perf = rcf = 2 res"]
WEIGHTS: dict[Weights, tuple[float, float, float]] = {
    "perf = res = 2 rcf": (0.4, 0.4, 0.2),
    "perf = rcf = 2 res": (0.4, 0.2, 0.4),
}
"""Performance, resources, reconfiguration (section 9)."""


@dataclass(frozen=True, slots=True)
class EdfChoice:
    """One combination of local and global policy."""

    local: Literal["threshold", "q-learning", "model-based"]
    setting: float | Weights
    """U_s-out of the threshold, or the cost weights."""
    bucket: bool = False

    @property
    def label(self) -> str:
        setting = f"U = {self.setting}" if self.local == "threshold" else f"{self.setting}"
        return f"{self.local}, {setting}"

    def policy(self, operator: Operator, generator: np.random.Generator) -> LocalPolicy:
        """The local policy of one operator's manager."""
        if isinstance(self.setting, float):
            return ThresholdScaling(ThresholdParameters(1, operator.max_replicas, self.setting))
        if operator.bound_s is None:
            raise ValueError(f"{operator.name} has no response time bound to learn from")
        performance, resource, reconfiguration = WEIGHTS[self.setting]
        parameters = LearningParameters(
            bound_s=operator.bound_s,
            min_replicas=1,
            max_replicas=operator.max_replicas,
            performance_weight=performance,
            resource_weight=resource,
            reconfiguration_weight=reconfiguration,
        )
        if self.local == "q-learning":
            return QLearningScaling(parameters, generator)
        return ModelBasedScaling(parameters)


@dataclass(frozen=True, slots=True)
class Figures:
    """One line of Table 1; the names are part of the JSON contract."""

    mean_ms: float
    p50_ms: float
    p95_ms: float
    replicas: float
    downtime_percent: float
    violation_percent: float


_RES: Weights = "perf = res = 2 rcf"
_RCF: Weights = "perf = rcf = 2 res"

PUBLISHED: dict[EdfChoice, Figures] = {
    EdfChoice("threshold", 0.7): Figures(363.0, 320.6, 686.8, 8.69, 1.25, 82.17),
    EdfChoice("threshold", 0.6): Figures(324.6, 300.0, 507.7, 8.75, 0.97, 77.76),
    EdfChoice("threshold", 0.5): Figures(295.0, 279.7, 457.9, 8.87, 1.48, 69.25),
    EdfChoice("threshold", 0.4): Figures(230.0, 229.9, 334.0, 9.61, 3.38, 35.68),
    EdfChoice("threshold", 0.4, True): Figures(211.4, 209.8, 302.3, 9.50, 1.23, 25.19),
    EdfChoice("threshold", 0.3): Figures(161.6, 152.3, 274.6, 12.40, 6.12, 7.48),
    EdfChoice("threshold", 0.3, True): Figures(164.1, 158.3, 239.4, 10.51, 3.18, 3.62),
    EdfChoice("q-learning", _RES): Figures(474.9, 145.9, 691.7, 13.78, 10.96, 17.99),
    EdfChoice("q-learning", _RES, True): Figures(144.0, 137.8, 216.9, 11.46, 1.56, 1.31),
    EdfChoice("q-learning", _RCF): Figures(492.5, 138.5, 789.8, 13.89, 10.84, 14.97),
    EdfChoice("q-learning", _RCF, True): Figures(138.1, 133.4, 205.0, 12.21, 1.16, 0.81),
    EdfChoice("model-based", _RES): Figures(176.4, 154.7, 271.9, 10.13, 3.20, 6.92),
    EdfChoice("model-based", _RES, True): Figures(168.4, 161.9, 240.4, 9.87, 1.40, 3.06),
    EdfChoice("model-based", _RCF): Figures(94.0, 89.3, 138.9, 12.00, 0.00, 0.01),
    EdfChoice("model-based", _RCF, True): Figures(93.8, 89.3, 137.8, 12.00, 0.00, 0.00),
}
