"""The demo of `bench hft` in seconds: the same controller on a plant like its cluster.

Everything is simulated. The plant has what was measured on emulated hosts (docs/spark.md):
overhead, work of a batch, cost of a row and their spread, a start that takes a quarter of a minute,
a first batch of a new executor that is seconds longer, executors that share two cores, arrivals
told by the batch or by the source. Energy is that of busy executors, as the emulated hosts count
it; a host without executors, which really falls to its lowest frequency, is not told apart.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from benchmarks.hft.calibration.run import arrivals
from benchmarks.hft.demo_load import FULL_SPEED_HZ, REFERENCE
from benchmarks.hft.experiment import LEARNING_S, HftExperiment, RunningCluster
from benchmarks.hft.outcome import Predictions, outcome
from benchmarks.hft.rounds import HftRound, order_of
from benchmarks.hft.setting import EmulatedHosts, HftSetting, described
from benchmarks.results import Comparison, Run
from energy.power import prior_power
from mpc.simulation.micro_batch import MicroBatchPlant, MicroBatchTraits
from mpc.simulation.run import control
from mpc.values import ArrivalsOrigin, Configuration
from runtime.build import live_controller, simulated_space
from runtime.control.journal import StepRecord

WARM = 0.87
"""A run that was checked had batches of 4.7 s where the calibrated plant had 5.4: executors are
colder in the run that calibrates."""
SPREAD = 0.06
"""Of a batch. The fit is off by 12 %, half of which is the warming up of its executors."""
STARTUP_S = 14.0
COLD_S = 10.0
"""How much longer the first batch of new executors takes, three of which came together."""
MACHINE_CORES = 2.0
JUDGED_QUOTES = 400_000
"""Of a run; every so many of its quotes are judged as predictions."""


@dataclass(frozen=True, slots=True)
class Twin:
    """One simulated demo: a machine, who tells what arrived, and a seed."""

    speed: float = 1.0
    """Of the machine, as `demo_load` measures it."""
    told_by: ArrivalsOrigin = "source"
    seed: int = 1

    def traits(self, setting: HftSetting, cluster: EmulatedHosts) -> MicroBatchTraits:
        core_hz = FULL_SPEED_HZ / cluster.core_share
        return replace(
            REFERENCE,
            overhead_s=WARM * REFERENCE.overhead_s / self.speed,
            batch_cycles=WARM * REFERENCE.batch_cycles / self.speed,
            row_cycles=WARM * REFERENCE.row_cycles / self.speed,
            overhead_cv=SPREAD,
            row_cycles_cv=SPREAD,
            trigger_interval_s=setting.trigger_interval_s,
            startup_s=STARTUP_S,
            cold_s=COLD_S / self.speed,
            told_by=self.told_by,
            machine_hz=MACHINE_CORES * core_hz,
            # A new executor has a whole core until it has started.
            starting_hz=core_hz,
        )

    def run(self, policy: str, setting: HftSetting) -> Run:
        """One policy, judged as on the cluster."""
        cluster = setting.cluster
        if not isinstance(cluster, EmulatedHosts):
            raise TypeError("only the cluster of emulated hosts has a simulated twin")
        full_power_w = cluster.hosts * cluster.full_power_w
        reached = RunningCluster(
            "simulated", (), cluster.executors, overrides=(f"power.full_power_w={full_power_w}",)
        )
        experiment = HftExperiment(policy, setting, reached, "simulated")
        config, step_s = experiment.config, setting.step_s
        space = simulated_space(config, cluster.executors)
        steps = round((setting.warm_up_s + setting.duration_s) / step_s)
        drain = round(2 * setting.trigger_interval_s / step_s)
        highest_khz = space.frequencies_khz[-1]
        plant = MicroBatchPlant(
            arrivals(experiment.replay, 0.0, steps + drain, step_s),
            self.traits(setting, cluster),
            prior_power(cluster.executors, highest_khz, full_power_w),
            Configuration(experiment.initial_executors, highest_khz),
            np.random.default_rng(self.seed),
            step_s=step_s,
            idle_share=0.0,
        )
        # As on the cluster the application begins some time before its controller.
        for _ in range(round((setting.warm_up_s - LEARNING_S) / step_s)):
            plant.wait_for_step()
        controller = live_controller(config, space)
        records = [
            StepRecord(
                at_s=step.measurement.time_s,
                mode="control",
                measurement=step.measurement,
                bounds=step.decided.bounds,
                decision=step.decided.decision,
                target=step.decided.target,
                applied=step.applied,
                dead_time_s=step.decided.dead_time_s,
                took_s=step.decision_ms / 1e3,
                events=step.decided.events,
            )
            for step in control(controller, plant)
        ]
        begin_s = setting.warm_up_s
        end_s = begin_s + setting.duration_s
        measured = [record for record in records if begin_s < record.at_s <= end_s]
        return outcome(
            policy,
            self.seed,
            measured,
            self._predictions(experiment, plant, begin_s - setting.trigger_interval_s, end_s),
            begin_s,
            config,
            setting.trigger_interval_s,
        )

    def _predictions(
        self, experiment: HftExperiment, plant: MicroBatchPlant, begin_s: float, end_s: float
    ) -> Predictions:
        """When quotes were due, and when the batch ended that took them; those that never were
        predicted are missing, as on the cluster."""
        stream = experiment.replay.stream()
        first, last = (stream.due_by(int(edge_s * 1e6), 0) for edge_s in (begin_s, end_s))
        stride = max((last - first) // JUDGED_QUOTES, 1)
        due_s = stream.schedule.due_us(first, last)[::stride] / 1e6
        started_s = np.asarray([batch.started_s for batch in plant.finished])
        finished_s = np.asarray([batch.finished_s for batch in plant.finished])
        batch = np.searchsorted(started_s, due_s, side="left")
        taken = batch < len(started_s)
        return Predictions(due_s[taken], finished_s[batch[taken]])


def compare_simulated(
    policies: Sequence[str],
    setting: HftSetting,
    told_by: ArrivalsOrigin,
    rounds: int,
    on_run: Callable[[HftRound], None],
) -> Comparison:
    """As `comparison.compare`, on the twin: every round has noise of its own."""
    runs = []
    for number in range(1, rounds + 1):
        twin = Twin(told_by=told_by, seed=setting.seed + number - 1)
        for policy in order_of(policies, number):
            runs.append(twin.run(policy, setting))
            on_run(HftRound.of_run(runs[-1], number, setting.steps))
    return Comparison(
        scenario="hft",
        source=f"{described(setting.replay)}; the twin of {setting.cluster.words}",
        threshold_s=setting.target_s,
        step_s=setting.step_s,
        runs=tuple(runs),
    )
