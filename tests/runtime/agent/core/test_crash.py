"""Death at any operation: whatever happened before, the host is what its other users made of it.

Beside each host under test stands a shadow that no agent ever touches and that gets the same heat,
hot-plug and foreign writes. At the end both must read the same, byte for byte.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.cpufreq.discover import discover
from energy.cpufreq.policy import expected_max_khz
from energy.emulation.description import HostDescription
from energy.emulation.drivers import DRIVERS, Driver
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.messages import LeaseRequest, RenewRequest
from runtime.agent.wire.refusals import Refused
from tests.runtime.agent.bench import ALICE, BOB, ROOT, Bench, Killed, attribute
from tests.support.faulty_host import FaultyHost

CPUS = 3
MEMORY = "/dev/shm" if Path("/dev/shm").is_dir() else None
"""Syncing to it costs nothing, and nobody cuts the power of these tests."""
CAPS = FrequencyRules(min_dwell_ms=0, may_move_minimum=True)
SPEEDS = FrequencyRules(min_dwell_ms=0, actuation="userspace")


@dataclass(frozen=True)
class Step:
    """One thing that happens to the host, or is asked of its agent, and when that dies of it."""

    what: str
    cpu: int
    khz: int
    min_khz: int | None
    policies: tuple[str, ...]
    die_after: int | None


class World:
    """The host with its agents, the shadow, and what nobody could tell apart."""

    def __init__(self, folder: Path, description: HostDescription, rules: FrequencyRules) -> None:
        self.bench = Bench(folder, FaultyHost(description), rules)
        self.shadow = FaultyHost(description)
        self.hosts = (self.bench.host, self.shadow)
        self.table = {policy.name: policy for policy in discover(self.shadow)}
        self.asked_khz: set[int] = set()
        self.asked_minimum = False
        self.heat = False
        self.foreign: dict[str, set[str]] = {name: set() for name in self.table}
        self.unclear: set[str] = set()
        self.actions: dict[str, Callable[[Step], object]] = {
            "lease": lambda step: self.bench.take(take_over=step.cpu == 0),
            "other_lease": lambda _: self.bench.agent.lease(BOB, LeaseRequest(500)),
            "renew": lambda _: self.bench.agent.renew(
                ALICE, RenewRequest(self.bench.epoch, self.bench.next())
            ),
            "cap": self.cap,
            "stale_cap": self.stale_cap,
            "release": lambda _: self.bench.release(),
            "admin": lambda _: self.bench.agent.release_as_administrator(ROOT),
            "wait": lambda step: self.bench.clock.advance(step.khz / 1_000_000),
            "tick": lambda _: self.bench.agent.tick(),
            "restart": lambda _: self.bench.start(),
            "stop": lambda _: self.bench.agent.stop(),
            "foreign_max": lambda step: self.write("scaling_max_freq", step),
            "foreign_min": lambda step: self.write("scaling_min_freq", step),
            "hot": lambda step: self.set_heat(step, step.khz),
            "cool": lambda step: self.set_heat(step, None),
            "unplug": lambda step: self.both(lambda host: host.unplug(step.cpu)),
            "plug": lambda step: self.both(lambda host: host.plug(step.cpu)),
        }

    def do(self, step: Step) -> None:
        self.bench.fate.left = step.die_after
        try:
            with suppress(Refused):
                self.actions[step.what](step)
        except Killed:
            self.bench.fate.left = None
            self.bench.start()
        self.bench.fate.left = None

    def cap(self, step: Step) -> None:
        self.asked_khz.add(step.khz)
        self.asked_minimum |= step.min_khz is not None
        self.bench.cap(step.khz, *step.policies, min_khz=step.min_khz)

    def stale_cap(self, step: Step) -> None:
        before = self.bench.host.snapshot()
        self.bench.epoch -= 1
        with pytest.raises(Refused):
            self.bench.cap(step.khz)
        self.bench.epoch += 1
        if self.bench.agent.status().holder is not None:  # not just expired and restored
            assert self.bench.host.snapshot() == before

    def write(self, name: str, step: Step) -> None:
        policy = f"policy{step.cpu}"
        expected_khz = expected_max_khz(self.table[policy], step.khz)
        if expected_khz in {expected_max_khz(self.table[policy], khz) for khz in self.asked_khz}:
            self.unclear.add(policy)  # a value that we write ourselves
        self.foreign[policy].add(name)
        self.both(lambda host: host.write(attribute(policy, name), str(step.khz)))

    def set_heat(self, step: Step, khz: int | None) -> None:
        self.heat |= khz is not None
        self.both(lambda host: host.thermal_cap(f"policy{step.cpu}", khz))

    def both(self, action: Callable[[FaultyHost], None]) -> None:
        for host in self.hosts:
            with suppress(OSError):
                action(host)

    def check(self) -> None:
        """Let everything pass, start once more, and compare."""
        for cpu in range(CPUS):
            self.actions["plug"](step("plug", cpu=cpu))
            self.actions["cool"](step("cool", cpu=cpu))
        self.bench.start()
        self.bench.agent.tick()
        self.bench.agent.stop()
        assert self.bench.journal.load().entries == {}
        for policy, names in self.foreign.items():
            hidden = "scaling_max_freq" in names and self.heat
            clamped = "scaling_min_freq" in names and self.asked_minimum
            if hidden or clamped:
                self.unclear.add(policy)
        assert self.clear(self.bench.host) == self.clear(self.shadow)

    def clear(self, host: FaultyHost) -> dict[str, str]:
        return {
            path: text
            for path, text in host.snapshot().items()
            if not any(f"/{policy}/" in path for policy in self.unclear)
        }


@contextmanager
def world(description: HostDescription, rules: FrequencyRules = CAPS) -> Iterator[World]:
    with TemporaryDirectory(dir=MEMORY) as folder:
        made = World(Path(folder), description, rules)
        made.bench.start()
        try:
            yield made
        finally:
            made.bench.close()


def step(what: str, khz: int = 0, *policies: str, cpu: int = 0, min_khz: int | None = None) -> Step:
    return Step(what, cpu, khz, min_khz, policies, None)


# From 1.15 to 2.45 GHz: on and between the steps of a table, and a little outside.
frequencies_khz = st.integers(23, 49).map(lambda number: number * 50_000)
kinds = {
    "agent": ["lease", "cap", "cap", "cap", "tick", "renew", "release", "stop", "restart"],
    "trouble": ["stale_cap", "other_lease", "admin", "wait", "unplug", "plug"],
    "others": ["foreign_max", "foreign_min", "hot", "cool"],
}


def steps(*groups: str, minimum: bool) -> st.SearchStrategy[list[Step]]:
    one = st.builds(
        Step,
        what=st.sampled_from([what for group in groups for what in kinds[group]]),
        cpu=st.integers(0, CPUS - 1),
        khz=frequencies_khz,
        min_khz=st.none() | frequencies_khz if minimum else st.none(),
        policies=st.lists(st.sampled_from(["policy0", "policy1", "policy9"]), max_size=2).map(
            tuple
        ),
        die_after=st.none() | st.integers(0, 12),
    )
    return st.lists(one, min_size=1, max_size=14).map(
        lambda drawn: [step("lease"), step("cap", 1_900_000), *drawn]
    )


hosts = st.builds(
    HostDescription,
    driver=st.sampled_from(DRIVERS),
    cpus=st.just(CPUS),
    cpus_per_domain=st.sampled_from([None, CPUS]),
)
table_hosts = st.builds(
    HostDescription, driver=st.sampled_from(["acpi-cpufreq", "intel_cpufreq"]), cpus=st.just(CPUS)
)


@given(hosts, steps("agent", "trouble", minimum=True))
def test_a_host_nobody_else_writes_to_is_as_it_was(
    description: HostDescription, drawn: list[Step]
) -> None:
    with world(description) as made:
        for one in drawn:
            made.do(one)
        assert not made.unclear
        made.check()


@given(hosts, st.booleans().flatmap(lambda minimum: steps(*kinds, minimum=minimum)))
def test_a_host_is_what_everybody_else_made_of_it(
    description: HostDescription, drawn: list[Step]
) -> None:
    with world(description) as made:
        for one in drawn:
            made.do(one)
        made.check()


@given(table_hosts, steps("agent", "trouble", minimum=False))
def test_governor_and_speed_are_as_they_were(
    description: HostDescription, drawn: list[Step]
) -> None:
    with world(description, SPEEDS) as made:
        for one in drawn:
            made.do(one)
        made.check()


SCENARIO = (
    step("lease"),
    step("cap", 1_500_000),
    step("foreign_max", 2_100_000, cpu=1),
    step("tick"),
    step("cap", 1_800_000, min_khz=1_400_000),
    step("unplug", cpu=2),
    step("cap", 1_600_000, "policy0"),
    step("release"),
    step("plug", cpu=2),
    step("tick"),
    step("lease"),
    step("cap", 1_300_000),
    step("stop"),
)


@pytest.mark.parametrize("driver", ["acpi-cpufreq", "intel_pstate"])
def test_death_before_each_single_operation_and_again_while_recovering(driver: Driver) -> None:
    description = HostDescription(driver=driver, cpus=CPUS)
    with world(description) as made:
        for one in SCENARIO:
            made.do(one)
        effects = made.bench.fate.effects
        made.check()
    assert effects > 40
    for survived in range(effects):
        for survived_again in (0, 2, 5, None):
            with world(description) as made:
                with suppress(Killed):
                    made.bench.fate.left = survived
                    for one in SCENARIO:
                        with suppress(Refused):
                            made.actions[one.what](one)
                with suppress(Killed):
                    made.bench.fate.left = survived_again
                    made.bench.start()
                made.bench.fate.left = None
                made.check()
