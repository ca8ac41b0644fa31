"""The policies of the comparison by name, set up for its cluster.

`foresight` also sets frequencies; all others run at the highest, as they do where they come from.
`foresight-executors` does, too, so that one can tell what the frequency brings.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.peers.setting import SPACE, PeerSetting, cluster_power
from mpc.policies.catalogue import policy_entries
from mpc.policies.context import Context
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.build import build_policy
from runtime.config import Config, load_config

EXECUTORS_ONLY = "foresight-executors"
"""`foresight` at the highest frequency."""


def all_policies() -> tuple[str, ...]:
    """Every policy that can run on Spark, those of other distributions too."""
    live = (entry.name for entry in policy_entries() if entry.live and entry.number is None)
    first, *others = live
    return (first, EXECUTORS_ONLY, *others)


def configured(setting: PeerSetting, file: Path | None, overrides: Sequence[str]) -> Config:
    """The configuration with what the cluster is like; the user's own overrides come last."""
    interval = [
        f"policies.{entry.name}.batch_interval_s={setting.trigger_interval_s}"
        for entry in policy_entries()
        if entry.has_table and "batch_interval_s" in entry.options_type().__struct_fields__
    ]
    return load_config(file, [*interval, *overrides])


def space_of(name: str) -> ConfigurationSpace:
    """What a policy may choose from."""
    if name == EXECUTORS_ONLY:
        return replace(SPACE, frequencies_khz=SPACE.frequencies_khz[-1:])
    return SPACE


def make_policy(name: str, setting: PeerSetting, config: Config, seed: int) -> Policy:
    context = Context(
        space=space_of(name),
        target_latency_s=setting.target_s,
        step_s=setting.step_s,
        power=cluster_power(),
        idle_share=setting.idle_share,
        dead_time_s=setting.startup_s,
        latency_model="micro-batch",
        generator=np.random.default_rng([seed, 1]),
    )
    return build_policy(config, "foresight" if name == EXECUTORS_ONLY else name, context)
