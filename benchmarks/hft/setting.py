"""What a comparison on a cluster is asked for: the cluster, the load, the target.

Starts nothing.
"""

from dataclasses import dataclass
from pathlib import Path

import msgspec

from benchmarks.hft.demo_load import WAVE
from benchmarks.hft.pipeline.placement import Method
from benchmarks.hft.stream.replay import Replay


class EmulatedHosts(msgspec.Struct, frozen=True, tag=True):
    """Hosts of this machine, which share its cores."""

    hosts: int = 3
    cpus: int = 2
    core_share: float = 0.3
    """What an emulated CPU has of a real core at the highest frequency."""
    free_cpu_s: float = 10.0
    """CPU time of a new executor before that share holds."""
    full_power_w: float = 30.0
    """Of one host."""

    @property
    def executors(self) -> int:
        return self.hosts * self.cpus

    @property
    def words(self) -> str:
        return f"{self.hosts} emulated hosts with {self.cpus} x {self.core_share:g} core"


class GivenCluster(msgspec.Struct, frozen=True, tag=True):
    """A standalone cluster that runs already, with agents on its hosts."""

    master_url: str
    agents: tuple[str, ...]
    """host=address, as in agents.urls."""
    executors: int

    @property
    def words(self) -> str:
        return f"{self.master_url}, up to {self.executors} executors"


EMULATED_HOSTS = EmulatedHosts()


@dataclass(frozen=True, slots=True)
class HftSetting:
    """The cluster, the load and the target of a comparison."""

    cluster: EmulatedHosts | GivenCluster = EMULATED_HOSTS
    replay: Replay = WAVE
    warm_up_s: float = 190.0
    """Executors start, load their libraries and catch up; policies see one wave."""
    duration_s: float = 180.0
    target_s: float = 30.0
    """Two intervals and a half: the first batch of executors that have just come has room in it."""
    gamma: float = 0.01
    """Weight of stability, half of the default: a wave of the demo is minutes long, not a day."""
    step_s: float = 1.0
    trigger_interval_s: float = 12.0
    scaling_interval_s: float = 15.0
    """Of spark-ratio. Spark's own is a minute, in which the demo's wave has come and gone."""
    placement: Method = "balanced"
    seed: int = 1
    overrides: tuple[str, ...] = ()

    @property
    def steps(self) -> int:
        """That a run is measured for, if none is missed."""
        return round(self.duration_s / self.step_s)


def described(replay: Replay) -> str:
    """What is replayed, for people."""
    content = f"quotes of {Path(replay.path).name}" if replay.path else "generated quotes"
    if replay.symbols is not None:
        content += f", {replay.symbols} symbols"
    rate = replay.rate or ("recorded" if replay.path else "constant")
    match rate:
        case "recorded":
            return f"{content}, {replay.acceleration:g} times as fast as recorded"
        case "wave":
            return (
                f"{content}, a wave of {replay.lowest_per_s:g} to {replay.peak_per_s:g} quotes/s "
                f"every {replay.period_s:g} s"
            )
        case _:
            return f"{content}, {rate} up to {replay.peak_per_s:g} quotes/s"
