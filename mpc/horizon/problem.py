"""The problem of one control step: a trajectory of configurations of least cost over the horizon.

    minimise   sum_t  qos(latency_t) + resource_cost[u_t]
                      + executor_switching * (n_t - n_{t-1})^2
                      + frequency_switching * (f_t - f_{t-1})^2          (f as an index)

after Expr. 10 of De Matteis and Mencagli 2016, with constraints that the paper does not have.
Values only; nothing is solved here. Arrays over (N, F) follow the order of `ConfigurationSpace`.
"""

import math
from dataclasses import dataclass, field

import numpy as np

from mpc.horizon.qos import QosCurve
from mpc.values import Configuration, ConfigurationSpace, FloatArray

__all__ = ["Backlog", "Constraints", "HorizonProblem", "QosCurve"]


@dataclass(frozen=True, slots=True, eq=False)
class Backlog:
    """Items that wait at the start of the horizon, and the fluid that fills and drains them.

    q' = max(0, q + (arrivals - service(active executors, f)) * step_s), and a stage that begins
    with q items waiting has the latency latency_s[t, n, f] + q / service(n, f).
    """

    initial_items: float
    arrivals_per_s: FloatArray
    """(h,)"""
    service_per_s: FloatArray
    """(N, F), positive"""
    step_s: float

    def __post_init__(self) -> None:
        _require_number("backlog.initial_items", self.initial_items, at_least=0.0)
        _require_positive("backlog.step_s", self.step_s)


@dataclass(frozen=True, slots=True, eq=False)
class Constraints:
    """What a trajectory must keep to, besides being cheap; `None` means no such limit.

    The problem is never infeasible. Where no configuration within reach (rate limits, dwell) meets
    the power cap, those of least power within reach count as meeting it; where no trajectory meets
    the energy budget, the budget is the least energy that a trajectory can have.
    """

    dead_time_steps: int = 0
    """d: an executor requested now serves d steps later. Active executors are the minimum of the
    last d + 1 requests: scale-out late, scale-in at once. A frequency acts at once."""
    recent_requests: tuple[int, ...] = ()
    """The last d requested executor counts, oldest first; empty: the current count for d steps.
    Smaller than what was requested where executors were lost and are being replaced."""
    max_added_per_step: int | None = None
    max_removed_per_step: int | None = None
    min_dwell_steps: int = 0
    """A configuration is held for at least this many steps. Executors and frequency are bound
    together: a change of either starts the dwell of both."""
    steps_since_change: int | None = None
    """Steps that the current configuration has been held: 1 right after the step that changed it.
    None: long enough."""
    power_w: FloatArray | None = None
    """(N, F): power of the *requested* configuration, what the cap and the budget are about."""
    power_cap_w: float | None = None
    energy_budget_j: float | None = None
    """Over the whole horizon."""
    step_s: float | None = None
    """Needed for the energy budget."""

    def __post_init__(self) -> None:
        _require_count("dead_time_steps", self.dead_time_steps)
        _require_count("min_dwell_steps", self.min_dwell_steps)
        _require_count("max_added_per_step", self.max_added_per_step)
        _require_count("max_removed_per_step", self.max_removed_per_step)
        _require_count("steps_since_change", self.steps_since_change)
        if len(self.recent_requests) not in (0, self.dead_time_steps):
            raise ValueError(
                f"recent_requests must hold the last dead_time_steps = {self.dead_time_steps} "
                f"requests or none, got {len(self.recent_requests)}"
            )
        limited = self.power_cap_w is not None or self.energy_budget_j is not None
        if limited and self.power_w is None:
            raise ValueError("power_cap_w and energy_budget_j need power_w")
        if self.power_cap_w is not None:
            _require_number("power_cap_w", self.power_cap_w)
        if self.energy_budget_j is not None:
            _require_number("energy_budget_j", self.energy_budget_j)
            if self.step_s is None:
                raise ValueError("energy_budget_j needs step_s")
        if self.step_s is not None:
            _require_positive("step_s", self.step_s)


@dataclass(frozen=True, slots=True, eq=False)
class HorizonProblem:
    """One control step as an optimisation problem.

    A current configuration or recent request outside the space counts as the nearest inside it.
    """

    space: ConfigurationSpace
    current: Configuration
    latency_s: FloatArray
    """(h, N, F): predicted latency of stage t with n executors *active* at frequency f and no
    backlog carried in."""
    qos: QosCurve
    resource_cost: FloatArray
    """(N, F), charged on the *requested* configuration of every stage."""
    executor_switching: float
    frequency_switching: float
    constraints: Constraints = field(default_factory=Constraints)
    backlog: Backlog | None = None

    def __post_init__(self) -> None:
        space = self.space
        grid = (space.max_executors - space.min_executors + 1, len(space.frequencies_khz))
        if self.latency_s.ndim != 3 or self.latency_s.shape[0] < 1:
            raise ValueError(f"latency_s must be (h >= 1, N, F), got {self.latency_s.shape}")
        horizon = self.latency_s.shape[0]
        _require_array("latency_s", self.latency_s, (horizon, *grid))
        _require_array("resource_cost", self.resource_cost, grid)
        _require_number("executor_switching", self.executor_switching, at_least=0.0)
        _require_number("frequency_switching", self.frequency_switching, at_least=0.0)
        if self.constraints.power_w is not None:
            _require_array("constraints.power_w", self.constraints.power_w, grid)
        if self.backlog is not None:
            self._check_backlog(self.backlog, horizon, grid)

    def _check_backlog(self, backlog: Backlog, horizon: int, grid: tuple[int, int]) -> None:
        _require_array("backlog.arrivals_per_s", backlog.arrivals_per_s, (horizon,))
        _require_array("backlog.service_per_s", backlog.service_per_s, grid)
        if backlog.arrivals_per_s.min() < 0:
            raise ValueError("backlog.arrivals_per_s must be >= 0")
        if backlog.service_per_s.min() <= 0:
            raise ValueError("backlog.service_per_s must be > 0")
        if self.constraints.step_s not in (None, backlog.step_s):
            raise ValueError(
                f"backlog.step_s = {backlog.step_s} and constraints.step_s = "
                f"{self.constraints.step_s} must agree"
            )

    @property
    def horizon(self) -> int:
        return int(self.latency_s.shape[0])


def _require_array(name: str, values: FloatArray, shape: tuple[int, ...]) -> None:
    if values.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {values.shape}")
    if values.dtype != np.float64:
        raise ValueError(f"{name} must be float64, got {values.dtype}")
    if not np.isfinite(values).all():
        raise ValueError(f"{name} must be finite; give overload a large latency, not infinity")


def _require_number(name: str, value: float, at_least: float = -math.inf) -> None:
    if not (math.isfinite(value) and value >= at_least):
        wanted = "finite" if at_least == -math.inf else f"finite and >= {at_least:g}"
        raise ValueError(f"{name} must be {wanted}, got {value}")


def _require_positive(name: str, value: float) -> None:
    if not (math.isfinite(value) and value > 0):
        raise ValueError(f"{name} must be finite and > 0, got {value}")


def _require_count(name: str, value: int | None) -> None:
    if value is not None and value < 0:
        raise ValueError(f"{name} must be >= 0, got {value}")
