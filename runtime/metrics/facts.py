"""What does not change while an application runs, and no journal line repeats."""

from collections import deque
from dataclasses import dataclass
from pathlib import Path

from mpc.values import ConfigurationSpace
from runtime.config import Config
from runtime.control.starts import read_starts


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """None: not known, as for a journal without the configuration of its run."""

    application: str
    policy: str | None = None
    target_latency_s: float | None = None
    step_s: float | None = None
    late_quantile: float | None = None
    """Share of the rows that must keep the target; None: their mean."""
    max_executors: int | None = None
    max_khz: int | None = None
    power_cap_w: float | None = None


def facts_of(config: Config, application: str, space: ConfigurationSpace | None = None) -> Facts:
    """`space`: what the controller chooses from, where that is known."""
    return Facts(
        application=application,
        policy=config.policy,
        target_latency_s=config.slo.latency_s,
        step_s=config.horizon.step_s,
        late_quantile=config.slo.quantile,
        max_executors=config.executors.max,
        max_khz=None if space is None else space.frequencies_khz[-1],
        power_cap_w=config.limits.power_cap_w,
    )


def facts_in(folder: Path) -> Facts:
    """Those of the last start that is noted beside the journal."""
    last = deque(read_starts(folder), maxlen=1)
    if not last:
        return Facts(application=folder.name)
    return facts_of(last[0].config, folder.name, last[0].space)
