"""What a metric is taken from: one step and what is known around it."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from mpc.objective import breaks_objective
from mpc.values import Configuration, LatencyKind
from runtime.control.journal import StepRecord
from runtime.metrics.facts import Facts
from runtime.metrics.fan import ExpectedArrivals
from runtime.metrics.hosts import HostView


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """None: not known."""

    facts: Facts
    step_s: float
    now_s: float
    last: StepRecord | None = None
    """None before the first step."""
    hosts: tuple[HostView, ...] = ()
    due: ExpectedArrivals | None = None
    """What was expected of this step one step before."""
    fan: tuple[ExpectedArrivals, ...] = ()
    """What is expected of the steps to come."""
    energy_j: float = 0.0
    """Of this step."""
    measured_at_s: float | None = None
    """The time of the last step whose arrivals are known."""
    latency_kind: LatencyKind | None = None
    """Of the last latency that is known."""
    unapplied_s: Mapping[str, float] = field(default_factory=dict)
    """By knob: how long what runs has not been what was asked for."""

    @property
    def record(self) -> StepRecord:
        assert self.last is not None
        return self.last

    @property
    def late(self) -> bool:
        """The objective is broken: latency above the target, or too many late rows."""
        target_s, quantile = self.facts.target_latency_s, self.facts.late_quantile
        return target_s is not None and breaks_objective(
            self.record.measurement, target_s, quantile
        )

    @property
    def planned(self) -> Configuration:
        """What the optimiser wants now; of policies that do not plan, what they decided."""
        decision = self.record.decision
        plan = decision.plan
        return plan.trajectory[0] if plan is not None and plan.trajectory else decision.target

    @property
    def stages(self) -> dict[str, Configuration]:
        applied = self.record.applied
        return {
            "planned": self.planned,
            "requested": applied.requested,
            "observed": applied.observed,
        }
