"""The policies of the comparison by name, set up for its cluster.

`foresight` also sets frequencies; all others run at the highest, as they do where they come from.
`foresight-executors` does, too, so that one can tell what the frequency brings.
"""

import re
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from benchmarks.peers.setting import SPACE, PeerSetting, cluster_power
from mpc.ports import Policy
from mpc.values import ConfigurationSpace
from runtime.build import foresight_policy
from runtime.config import Config, load_config
from runtime.policies.registry import build_policy

OWN = ("foresight", "foresight-executors")
PEERS = ("hpa", "ds2", "spark-dra", "spark-ratio")
"""What users run today."""
ALL_POLICIES = (
    *OWN,
    "peak",
    *PEERS,
    "rule-based",
    "q-learning",
    "value-iteration",
    "parameter-search",
    "edf-threshold",
    "edf-q-learning",
    "edf-model-based",
    "mdp",
    "mdp-rl",
    "decentralised",
)

_STATIC = re.compile(r"static-([1-9][0-9]*)")
_TOLD_THE_INTERVAL = ("spark-dra", "spark-ratio", "q-learning", "value-iteration")


def check_policies(names: Sequence[str]) -> None:
    for name in names:
        static = _STATIC.fullmatch(name)
        if static and int(static[1]) > SPACE.max_executors:
            raise ValueError(f"{name}: the cluster has {SPACE.max_executors} executors")
        if not (static or name in ALL_POLICIES):
            raise ValueError(
                f"unknown policy {name!r}; known: {', '.join(ALL_POLICIES)} and static-N"
            )


def configured(setting: PeerSetting, file: Path | None, overrides: Sequence[str]) -> Config:
    """The configuration with what the cluster is like; the user's own overrides come last."""
    interval = [
        f"policies.{name}.batch_interval_s={setting.trigger_interval_s}"
        for name in _TOLD_THE_INTERVAL
    ]
    return load_config(file, [*interval, *overrides])


def space_of(name: str) -> ConfigurationSpace:
    """What a policy may choose from."""
    if name == "foresight-executors":
        return replace(SPACE, frequencies_khz=SPACE.frequencies_khz[-1:])
    return SPACE


def make_policy(name: str, setting: PeerSetting, config: Config, seed: int) -> Policy:
    check_policies([name])
    if name not in OWN:
        generator = np.random.default_rng([seed, 1])
        return build_policy(config, name, SPACE, setting.target_s, setting.step_s, generator)
    return foresight_policy(
        config,
        space_of(name),
        setting.target_s,
        setting.step_s,
        cluster_power(),
        plant_latency="micro-batch",
        learned_dead_time_s=setting.startup_s,
    )
