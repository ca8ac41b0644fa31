"""What the agent tells: energy, executors, capabilities, status."""

import errno
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest

from energy.errors import MeterUnavailable
from energy.meters.contract import EnergyReading, PowerSource, Zone
from runtime.agent.core.agent import Agent, Identity
from runtime.agent.host.executors import Executor
from runtime.agent.wire.messages import FrequencyRequest, LeaseRequest
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.bench import ALICE, Bench


@pytest.fixture
def bench(tmp_path: Path) -> Iterator[Bench]:
    bench = Bench(tmp_path)
    bench.start()
    yield bench
    bench.close()


class Counter:
    """A meter that gains one joule with every poll."""

    name: Literal["powercap", "pyrapl", "modelled"] = "powercap"
    source: PowerSource = "measured"

    def __init__(self) -> None:
        self.polls = 0
        self.broken = False

    def poll(self, now_s: float) -> EnergyReading:
        if self.broken:
            raise MeterUnavailable("unplugged")
        self.polls += 1
        energy_uj = self.polls * 1_000_000
        return EnergyReading(now_s, (Zone("package-0", energy_uj),), energy_uj, self.source, 0)


def test_energy_is_polled_by_the_tick_and_when_it_is_old(tmp_path: Path) -> None:
    meter = Counter()
    bench = Bench(tmp_path, meter=meter)
    bench.start()
    assert bench.agent.energy().total_uj == 1_000_000
    bench.clock.advance(0.4)
    bench.agent.tick()
    assert bench.agent.energy().total_uj == 1_000_000
    bench.clock.advance(0.6)
    bench.agent.tick()
    report = bench.agent.energy()
    assert report.total_uj == 2_000_000
    assert report.at_ms - report.started_ms == 1000
    bench.clock.advance(1.5)
    assert bench.agent.energy().total_uj == 3_000_000
    meter.broken = True
    bench.clock.advance(1.5)
    bench.agent.tick()
    assert bench.agent.status().last_problem == "unplugged"
    assert bench.agent.status().energy_source == "measured"
    bench.close()


def test_a_host_without_a_meter_says_why(bench: Bench) -> None:
    with pytest.raises(Refused, match="no counter here") as refused:
        bench.agent.energy()
    assert refused.value.code == "unavailable"
    assert bench.agent.hello().meter_reason == "no counter here"


def test_hello_tells_what_the_host_can_do(bench: Bench) -> None:
    hello = bench.agent.hello()
    assert (hello.host, hello.boot_id, hello.emulated) == ("worker", "first boot", True)
    assert [policy.name for policy in hello.policies] == [
        "policy0",
        "policy1",
        "policy2",
        "policy3",
    ]
    assert hello.policies[0].hardware_max_khz == 2_400_000


def test_executors_are_reported_in_milliseconds(tmp_path: Path) -> None:
    found = (Executor("app-1", "3", 4711, 2, 12.3456, (4711, 4712)),)
    bench = Bench(tmp_path, executors=lambda: found)
    bench.start()
    (report,) = bench.agent.executors().executors
    assert (report.application, report.executor_id, report.cpu_ms) == ("app-1", "3", 12346)
    bench.close()


def test_status_shows_originals_requests_and_who_asked(bench: Bench) -> None:
    epoch = bench.take()
    bench.cap(1_650_000, "policy1")
    status = bench.agent.status()
    assert (status.holder, status.epoch, status.expires_in_ms) == ("alice", epoch, 3000)
    assert (status.accepted, status.refused) == (2, 0)
    touched = status.policies[1]
    assert touched.original_max_khz == 2_400_000
    assert (touched.requested_khz, touched.effective_khz) == (1_650_000, 1_600_000)
    untouched = status.policies[0]
    assert (untouched.original_max_khz, untouched.requested_khz) == (None, None)
    assert untouched.effective_khz == 2_400_000


def test_a_host_without_policies_serves_but_sets_nothing(tmp_path: Path) -> None:
    class Nothing:
        def read(self, path: str) -> str:
            raise FileNotFoundError(errno.ENOENT, "nothing", path)

        def write(self, path: str, text: str) -> None:
            raise FileNotFoundError(errno.ENOENT, "nothing", path)

        def names(self, path: str) -> tuple[str, ...]:
            return ()

        def mode(self, path: str) -> int | None:
            return None

    bench = Bench(tmp_path)
    bench.start()
    agent = Agent(
        Identity("1.0", "bare", bench.boot_id, emulated=False),
        Nothing(),
        bench.rules,
        None,
        "none",
        bench.journal,
        bench.audit,
        bench.clock,
        tuple,
    )
    agent.start()
    granted = agent.lease(ALICE, LeaseRequest(1000))
    request = FrequencyRequest(granted.epoch, 1, 1_500_000)
    with pytest.raises(Refused, match="no frequency policies"):
        agent.set_frequency(ALICE, request)
    agent.tick()
    bench.close()
