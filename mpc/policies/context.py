"""What a policy is built for: the cluster or plant that it will control."""

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from energy.power import PowerModel, ProportionalPower
from mpc.values import ConfigurationSpace


@dataclass(frozen=True, slots=True, kw_only=True)
class Context:
    space: ConfigurationSpace
    """Everything that can ever be chosen; the bounds of a step lie within it."""
    target_latency_s: float
    step_s: float
    power: PowerModel = field(default_factory=ProportionalPower)
    power_in_watts: bool = True
    """Whether the level of `power` means something, or only its shape."""
    idle_share: float = 1.0
    """What an executor that is held without work counts for beside one at work; 1: replicas that
    spin, as in the MPC paper."""
    dead_time_s: float = 0.0
    """From asking for an executor until it serves, as far as it is known when the policy is built;
    later `Measurement.startup_s` says it."""
    latency_model: Literal["kingman", "micro-batch"] = "kingman"
    """Which of the two is like what is controlled."""
    clock_speed: float = 1.0
    """Seconds of the measurements' clock in one second of the run: a trace may be played faster."""
    generator: np.random.Generator = field(default_factory=lambda: np.random.default_rng(1))
    """For everything that the policy leaves to chance."""
