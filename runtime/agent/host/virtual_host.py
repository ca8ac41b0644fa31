"""An emulated host whose executors are real processes of this machine.

They run on its CPUs: its frequencies slow them down, and their CPU time is what those CPUs would
have taken. Only an agent with `[emulation]` loads this.
"""

from collections.abc import Sequence
from dataclasses import replace

from energy.emulation.description import HostDescription
from energy.emulation.dvfs.choose import choose_throttle
from energy.emulation.dvfs.dvfs import VirtualDvfs, package_zones
from energy.emulation.host import EmulatedHost
from energy.errors import HostError
from energy.host_load import HostLoad
from energy.prior import prior_watts
from energy.tree import Tree
from runtime.agent.host.executors import Executor, ExecutorFinder
from runtime.agent.service.settings import AgentConfig
from runtime.clock import HostClock


class VirtualHost:
    """`runtime.agent.host.host.Host`, emulated."""

    emulated = True

    def __init__(self, config: AgentConfig, finder: ExecutorFinder, clock: HostClock) -> None:
        settings = config.emulation
        host = EmulatedHost(
            HostDescription(
                driver=settings.driver,
                cpus=settings.cpus,
                min_khz=settings.min_khz,
                max_khz=settings.max_khz,
            )
        )
        self.tree: Tree = host
        self._finder = finder
        self._clock = clock
        self._dvfs = VirtualDvfs(
            host,
            prior_watts(settings.cpus, settings.max_khz, config.energy.full_power_w),
            choose_throttle(settings.throttle),
            max_khz=settings.max_khz,
            cpus=range(settings.cpus),
            packages=package_zones(host.zones, host.plan.package_of),
            core_share=settings.share,
            free_cpu_s=settings.free_cpu_s,
        )

    def executors(self) -> Sequence[Executor]:
        """Those on the emulated CPUs, with the time of these."""
        return [
            replace(executor, cpu_s=self._dvfs.emulated_cpu_s(name))
            for name, executor in self._found().items()
            if name in self._dvfs.attached
        ]

    def load(self) -> HostLoad | None:
        """Of the emulated CPUs, whose energy the counters have; the machine's own load is not."""
        clock_khz = round(self._dvfs.clock_khz) or None
        # Emulated time passes at ticks: between two of them nothing has been used.
        busy_ms = round(self._dvfs.billed_cpu_s * 1e3)
        return HostLoad(busy_ms, clock_khz, at_s=self._dvfs.ticked_at_s)

    def follow(self) -> None:
        """Take in executors that came, let go of those that went, then move time on."""
        found = self._found()
        problem: HostError | None = None
        for name in self._dvfs.attached - found.keys():
            self._dvfs.detach(name)
        for name in sorted(found.keys() - self._dvfs.attached):
            try:
                self._dvfs.attach(name, found[name].pids, found[name].cores or 1)
            except HostError as error:
                problem = error
        self._dvfs.tick(self._clock.boot_s())
        if problem is not None:
            raise problem

    def close(self) -> None:
        self._dvfs.close()

    def _found(self) -> dict[str, Executor]:
        # With its pid: an executor that crashed may come back under its old id.
        return {
            f"{executor.application}-{executor.executor_id}-{executor.pid}": executor
            for executor in self._finder.find()
        }
