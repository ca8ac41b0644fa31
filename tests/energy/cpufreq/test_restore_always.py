"""Whatever happens, and wherever a process dies: what nobody else changed reads as it did."""

import copy
import errno
from collections.abc import Sequence
from contextlib import suppress

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from energy.cpufreq.discover import discover
from energy.cpufreq.originals import Original, Written, own_values, restore, save_original
from energy.cpufreq.policy import LimitRequest
from energy.errors import HostError, PolicyInactive
from energy.tree import Tree
from tests.energy.cpufreq.actuators import apply_limits, apply_speeds
from tests.energy.cpufreq.kernel import Cut, Died, Kernel, KernelPolicy

TABLE = (1_000_000, 1_350_000, 1_500_000, 1_800_000, 2_000_000, 2_400_000, 2_750_000, 3_000_000)
NAMES = ("policy0", "policy1")


def soon(pause_s: float) -> None:
    """Time that passes at once."""


class Agent:
    """What the daemon does with this package; `journal` outlives its processes."""

    def __init__(self) -> None:
        self.journal: dict[str, tuple[Original, Written]] = {}
        self.previous: dict[str, LimitRequest] = {}
        self.left_alone: list[str] = []

    def cap(self, tree: Tree, requests: Sequence[LimitRequest]) -> None:
        policies = {policy.name: policy for policy in discover(tree)}
        for request in requests:
            original, written = self.journal.get(request.policy) or (
                save_original(tree, policies[request.policy]),
                Written(),
            )
            lower_khz = () if request.min_khz is None else (request.min_khz,)
            wider = Written((*written.max_khz, request.max_khz), (*written.min_khz, *lower_khz))
            self.journal[request.policy] = (original, wider)
        apply_limits(
            tree,
            policies,
            requests,
            may_move_minimum=True,
            previous=self.previous,
            wait=soon,
        )
        self.previous.update({request.policy: request for request in requests})

    def release(self, tree: Tree) -> None:
        """Also what a new process does first: it knows nothing but the journal."""
        self.previous.clear()
        policies = {policy.name: policy for policy in discover(tree)}
        for name, (original, written) in list(self.journal.items()):
            with suppress(PolicyInactive):
                outcome = restore(tree, policies[name], original, written, wait=soon)
                self.left_alone.extend(outcome.left_alone)
                del self.journal[name]

    def forget(self, name: str) -> None:
        """The upper limit is another writer's now."""
        original, written = self.journal[name]
        self.journal[name] = (original, Written((), written.min_khz))


class World:
    """The kernel, the same kernel without the agent, and an agent that may die."""

    def __init__(self, policies: Sequence[KernelPolicy], lag_reads: int) -> None:
        self.kernel = Kernel(*policies, lag_reads=lag_reads)
        self.alone = Kernel(*copy.deepcopy(policies))
        self.agent = Agent()
        self.foreign: set[str] = set()

    def throttle(self, name: str, bios_khz: int | None, cooling_state: int) -> None:
        for kernel in (self.kernel, self.alone):
            kernel.policies[name].bios_khz = bios_khz
            kernel.policies[name].cooling_state = cooling_state

    def plug(self, name: str, online: bool) -> None:
        for kernel in (self.kernel, self.alone):
            kernel.policies[name].online = online

    def cap(self, requests: Sequence[LimitRequest], dies_at: int | None, fails: bool) -> None:
        requests = [request for request in requests if request.policy not in self.foreign]
        if fails:
            self.kernel.faults["write", "policy1/scaling_max_freq"] = errno.EIO
        try:
            self.agent.cap(Cut(self.kernel, dies_at), requests)
        except HostError:
            pass
        except Died:
            self.kernel.faults.clear()
            self.agent.release(self.kernel)
        self.kernel.faults.clear()

    def release(self, dies_at: int | None) -> None:
        try:
            self.agent.release(Cut(self.kernel, dies_at))
        except Died:
            self.agent.release(self.kernel)

    def write(self, name: str, khz: int) -> None:
        """Another writer's upper limit; the agent notices within its second."""
        policies = self.kernel.policies.values()
        if any(policy.bios_khz or policy.cooling_state or not policy.online for policy in policies):
            return
        self.foreign.add(name)
        for kernel in (self.kernel, self.alone):
            kernel.policies[name].user_max_khz = khz
        if name in self.agent.journal:
            original, written = self.agent.journal[name]
            policy = {policy.name: policy for policy in discover(self.kernel)}[name]
            ours = own_values(self.kernel, policy, original, written)
            if written.max_khz:
                assert not ours["scaling_max_freq"]
                self.agent.forget(name)

    def check(self) -> None:
        for name in NAMES:
            self.plug(name, online=True)
        self.agent.release(self.kernel)
        assert not self.agent.journal
        self._compare()
        for name in NAMES:
            self.throttle(name, None, 0)
        self._compare()

    def _compare(self) -> None:
        for name in NAMES:
            assert self.kernel.policies[name].attributes() == self.alone.policies[name].attributes()


# Ours, another writer's, the operator's and the throttle's values never coincide: what looks the
# same cannot be told apart by anybody.
ours_khz = st.sampled_from((1_500_000, 1_700_000, 2_000_000, 2_300_000, 2_400_000, 3_000_000))
lower_khz = st.sampled_from((1_000_000, 1_600_000, 1_700_000, 1_800_000))
foreign_khz = st.sampled_from((1_350_000, 2_750_000))
names = st.sampled_from(NAMES)
dying = st.none() | st.integers(0, 60)
requests_of_all = st.lists(
    st.builds(LimitRequest, names, ours_khz, st.none() | lower_khz), min_size=1, max_size=2
)
throttles = st.sampled_from(((None, 0), (1_500_000, 0), (2_000_000, 0), (None, 1), (None, 2)))
events = st.one_of(
    st.tuples(st.just("cap"), requests_of_all, dying, st.booleans()),
    st.tuples(st.just("release"), dying),
    st.tuples(st.just("throttle"), names, throttles),
    st.tuples(st.just("plug"), names, st.booleans()),
    st.tuples(st.just("write"), names, foreign_khz),
)


def play(world: World, sequence: Sequence[tuple[object, ...]], *, throttled: bool) -> None:
    for event in sequence:
        world.kernel.settle()
        match event:
            case ("cap", list(requests), int() | None as dies_at, bool(fails)):
                world.cap(requests, dies_at, fails)
            case ("release", int() | None as dies_at):
                world.release(dies_at)
            case ("throttle", str(name), (int() | None as bios_khz, int(cooling_state))) if (
                throttled
            ):
                world.throttle(name, bios_khz, cooling_state)
            case ("plug", str(name), bool(online)):
                world.plug(name, online)
            case ("write", str(name), int(khz)):
                world.write(name, khz)
    world.check()


@given(st.sampled_from((None, TABLE)), st.sampled_from((0, 2)), st.lists(events, max_size=12))
@settings(max_examples=150)
def test_unlimited_policies_come_back_from_anything(
    table_khz: tuple[int, ...] | None, lag_reads: int, sequence: list[tuple[object, ...]]
) -> None:
    policies = [KernelPolicy(cpu=cpu, table_khz=table_khz) for cpu in range(2)]
    play(World(policies, lag_reads), sequence, throttled=True)


@given(
    st.sampled_from((None, TABLE)),
    st.sampled_from((0, 2)),
    st.sampled_from(((1_000_000, 2_000_000), (1_350_000, 2_750_000), (1_500_000, 3_000_000))),
    st.lists(events, max_size=12),
)
@settings(max_examples=100)
def test_limits_that_an_operator_had_set_come_back_too(
    table_khz: tuple[int, ...] | None,
    lag_reads: int,
    user_khz: tuple[int, int],
    sequence: list[tuple[object, ...]],
) -> None:
    policies = [
        KernelPolicy(
            cpu=cpu, table_khz=table_khz, user_min_khz=user_khz[0], user_max_khz=user_khz[1]
        )
        for cpu in range(2)
    ]
    play(World(policies, lag_reads), sequence, throttled=False)


def scenario(agent: Agent, tree: Tree) -> None:
    agent.cap(tree, [LimitRequest("policy0", 2_000_000), LimitRequest("policy1", 1_500_000)])
    agent.cap(tree, [LimitRequest("policy0", 2_400_000, 1_800_000)])
    agent.cap(tree, [LimitRequest("policy0", 1_500_000, 1_000_000)])
    agent.release(tree)


@pytest.mark.parametrize("table_khz", [None, TABLE])
@pytest.mark.parametrize("user_max_khz", [2_750_000, 3_000_000])
def test_dying_before_every_single_access_and_again_while_restoring(
    table_khz: tuple[int, ...] | None, user_max_khz: int
) -> None:
    before = KernelPolicy(table_khz=table_khz, user_min_khz=1_350_000, user_max_khz=user_max_khz)
    deaths = 0
    while True:
        kernel = Kernel(copy.copy(before), copy.copy(before))
        agent = Agent()
        try:
            scenario(agent, Cut(kernel, deaths))
        except Died:
            deaths += 1
        else:
            break
        # The next process dies as well, each time a little later.
        for dies_at in range(0, 200, 17):
            with suppress(Died):
                agent.release(Cut(kernel, dies_at))
                break
        agent.release(kernel)
        assert not agent.journal
        assert not agent.left_alone
        for name in NAMES:
            assert kernel.policies[name].attributes() == before.attributes()
    assert deaths > 100


@pytest.mark.parametrize("governor", ["schedutil", "userspace"])
def test_dying_before_every_single_access_of_a_switch_of_governors(governor: str) -> None:
    before = KernelPolicy(governor=governor, speed_khz=2_750_000)
    written = Written(governor_switched=governor != "userspace", speed_khz=(1_500_000,))
    deaths = 0
    while True:
        kernel = Kernel(copy.copy(before))
        (policy,) = discover(kernel)
        original = save_original(kernel, policy, with_governor=True)
        tree = Cut(kernel, deaths)
        try:
            apply_speeds(tree, {"policy0": policy}, [LimitRequest("policy0", 1_500_000)])
            restore(tree, policy, original, written, wait=soon)
        except Died:
            deaths += 1
        else:
            break
        outcome = restore(kernel, policy, original, written, wait=soon)
        assert outcome.left_alone == ()
        assert kernel.policies["policy0"].attributes() == before.attributes()
    assert deaths > 10
