"""A host with a known power behind the questions and commands of an agent, in a time of its own."""

import http.client
from collections.abc import Sequence

from energy.cpufreq.policy import CpuPolicy, LimitOutcome
from energy.power import CalibratedPower
from runtime.agent.wire.client import AgentClient
from runtime.agent.wire.messages import (
    EnergyReport,
    ExecutorReport,
    ExecutorsReport,
    FrequencySet,
    Hello,
    LeaseGranted,
    Released,
    Renewed,
)
from runtime.agent.wire.refusals import Refused
from runtime.calibration.load import APPLICATION

MIN_KHZ, MAX_KHZ = 1_000_000, 3_000_000


class FakeHost(AgentClient):
    def __init__(
        self, model: CalibratedPower, *, share: float = 1.0, source: str | None = "measured"
    ) -> None:
        """A busy process gets `share` of a core."""
        super().__init__("fake", _no_connection)
        self.model = model
        self.share = share
        self.source = source
        self.now_s = 100.0
        self.khz = MAX_KHZ
        self.count = 0
        self.energy_j = 0.0
        self.cpu_s = 0.0
        self.refusals = 1
        self.renewed_s = 0.0
        self.leased = False
        self.released = 0

    def set_count(self, count: int) -> None:
        self.count = count

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        busy = self.share * self.count
        self.energy_j += seconds * float(self.model.power_w(busy, self.khz))
        self.cpu_s += seconds * busy
        if self.leased:
            assert self.now_s - self.renewed_s < 15.0, "the lease would have ended"

    def hello(self) -> Hello:
        policy = CpuPolicy(
            "policy0",
            (0, 1, 2, 3),
            (0, 1, 2, 3),
            "acpi-cpufreq",
            ("performance",),
            "performance",
            MIN_KHZ,
            MAX_KHZ,
            None,
            None,
            True,
        )
        return Hello(
            "1",
            "fake",
            "boot",
            False,
            (policy,),
            None,
            False,
            None if self.source is None else "powercap",
            self.source,
            None if self.source is not None else "no powercap",
        )

    def lease(self, period_ms: int, take_over: bool = False) -> LeaseGranted:
        self.leased, self.renewed_s = True, self.now_s
        return LeaseGranted(1, "me")

    def renew(self) -> Renewed:
        self.renewed_s = self.now_s
        return Renewed(1, 15_000)

    def set_frequency(
        self, max_khz: int, min_khz: int | None = None, policies: Sequence[str] | None = None
    ) -> FrequencySet:
        if self.refusals:
            self.refusals -= 1
            raise Refused("too_soon", "one change in 200 ms")
        self.khz = max_khz
        return FrequencySet((LimitOutcome("policy0", max_khz, max_khz, False, MIN_KHZ),), ())

    def energy(self) -> EnergyReport:
        total_uj = round(self.energy_j * 1e6)
        return EnergyReport(round(self.now_s * 1e3), "boot", 1, self.source or "", total_uj, ())

    def executors(self) -> ExecutorsReport:
        own = ExecutorReport(f"{APPLICATION}-7", "1", 8, 1, round(self.cpu_s * 1e3))
        other = ExecutorReport("app-1", "1", 9, 1, round(self.now_s * 1e3))
        return ExecutorsReport(round(self.now_s * 1e3), (own, other))

    def release(self) -> Released:
        self.leased = False
        self.released += 1
        return Released(("policy0",), ())


def _no_connection() -> http.client.HTTPConnection:
    raise AssertionError("the fake host has no connection")
