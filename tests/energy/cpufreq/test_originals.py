import errno

import msgspec
import pytest

from energy.cpufreq.discover import discover, read_policy
from energy.cpufreq.originals import (
    Original,
    RestoreOutcome,
    Written,
    own_values,
    restore,
    save_original,
)
from energy.cpufreq.policy import CpuPolicy, LimitRequest
from energy.cpufreq.throttling import Throttling
from energy.errors import DeviceFault, PolicyInactive, ValueIgnored
from tests.energy.cpufreq.actuators import apply_limits
from tests.energy.cpufreq.kernel import Kernel, KernelPolicy

TABLE = (1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000)
CAPPED = Written(max_khz=(1_500_000,))


def soon(pause_s: float) -> None:
    """Time that passes at once."""


def capped(policy: KernelPolicy) -> tuple[Kernel, CpuPolicy, Original]:
    """A kernel whose policy we capped at 1.5 GHz."""
    kernel = Kernel(policy)
    (found,) = discover(kernel)
    original = save_original(kernel, found)
    apply_limits(kernel, {"policy0": found}, [LimitRequest("policy0", 1_500_000)])
    return kernel, found, original


def test_an_original_can_be_journaled() -> None:
    kernel = Kernel(KernelPolicy(governor="userspace", speed_khz=2_000_000))
    original = save_original(kernel, read_policy(kernel, "policy0"), with_governor=True)
    assert (original.governor, original.setspeed_khz) == ("userspace", 2_000_000)
    assert msgspec.json.decode(msgspec.json.encode(original), type=Original) == original
    written = Written((1, 2), (3,), True, (4,))
    assert msgspec.json.decode(msgspec.json.encode(written), type=Written) == written


def test_the_governor_is_recorded_only_on_request() -> None:
    kernel = Kernel(KernelPolicy(governor="userspace"))
    original = save_original(kernel, read_policy(kernel, "policy0"))
    assert (original.governor, original.setspeed_khz) == (None, None)


@pytest.mark.parametrize(
    ("policy", "at_highest"),
    [
        (KernelPolicy(), True),
        (KernelPolicy(table_khz=TABLE[:-1]), True),  # the table ends below cpuinfo_max_freq
        (KernelPolicy(bios_khz=2_000_000), True),
        (KernelPolicy(cooling_state=2), True),
        (KernelPolicy(user_max_khz=2_000_000), False),
        (KernelPolicy(user_max_khz=2_000_000, bios_khz=2_500_000), False),
        (KernelPolicy(user_max_khz=1_500_000, cooling_state=1), False),
    ],
)
def test_a_limit_is_an_original_only_if_somebody_set_it(
    policy: KernelPolicy, at_highest: bool
) -> None:
    kernel = Kernel(policy)
    assert save_original(kernel, read_policy(kernel, "policy0")).at_highest is at_highest


def test_a_throttle_that_ends_while_it_is_saved_is_no_limit() -> None:
    class Ending(Kernel):
        """The firmware lets go as soon as somebody has looked at the limit."""

        def read(self, path: str) -> str:
            text = super().read(path)
            if path.endswith("scaling_max_freq"):
                self.policies["policy0"].bios_khz = None
            return text

    kernel = Ending(KernelPolicy(bios_khz=2_000_000))
    original = save_original(kernel, read_policy(kernel, "policy0"))
    assert (original.max_khz, original.at_highest) == (2_000_000, True)


def test_saved_while_throttled_and_restored_later_does_not_freeze_the_throttle() -> None:
    throttled = KernelPolicy(bios_khz=2_000_000)
    kernel, policy, original = capped(throttled)
    throttled.bios_khz = None
    assert restore(kernel, policy, original, CAPPED) == RestoreOutcome(
        "policy0", ("scaling_max_freq",), ()
    )
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_restored_while_throttled_comes_up_when_the_throttle_ends() -> None:
    hot = KernelPolicy()
    kernel, policy, original = capped(hot)
    hot.bios_khz = 1_200_000
    assert restore(kernel, policy, original, CAPPED).restored == ("scaling_max_freq",)
    assert kernel.text("policy0", "scaling_max_freq") == "1200000"
    hot.bios_khz = None
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_the_original_under_a_throttle_is_written_because_ours_may_hide_there() -> None:
    hot = KernelPolicy(bios_khz=1_200_000)
    kernel, policy, original = capped(hot)  # reads 1.2 GHz before and after
    assert restore(kernel, policy, original, CAPPED).restored == ("scaling_max_freq",)
    hot.bios_khz = None
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_a_throttle_that_ends_between_two_reads_is_not_taken_for_a_writer() -> None:
    class Ending(Kernel):
        """The firmware lets go as soon as somebody has looked at the limit it holds."""

        def read(self, path: str) -> str:
            text = super().read(path)
            if text == "1200000\n":
                self.policies["policy0"].bios_khz = None
            return text

    kernel, policy, original = capped(KernelPolicy())
    ending = Ending()
    ending.policies = kernel.policies
    kernel.policies["policy0"].bios_khz = 1_200_000
    assert restore(ending, policy, original, CAPPED).restored == ("scaling_max_freq",)
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_genoa_comes_back_to_all_of_its_range() -> None:
    genoa = KernelPolicy(
        hardware_min_khz=1_500_000,
        hardware_max_khz=3_800_241,
        table_khz=(1_500_000, 2_300_000, 3_250_000),
    )
    kernel, policy, original = capped(genoa)
    restore(kernel, policy, original, CAPPED)
    assert kernel.log[-1] == ("policy0/scaling_max_freq", "3800241")
    assert kernel.text("policy0", "scaling_max_freq") == "3250000"


@pytest.mark.parametrize(
    ("saved_khz", "restored_khz"), [(2_200_000, 3_000_000), (3_000_000, 2_200_000)]
)
def test_boost_switched_meanwhile_is_no_limit_either(saved_khz: int, restored_khz: int) -> None:
    policy = KernelPolicy(hardware_max_khz=saved_khz)
    kernel, found, original = capped(policy)
    policy.hardware_max_khz = restored_khz
    restore(kernel, found, original, CAPPED)
    policy.hardware_max_khz = 3_000_000
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_boost_switched_after_the_policy_was_discovered() -> None:
    policy = KernelPolicy(extra={"bios_limit": "3000000"})
    kernel = Kernel(policy)
    found = read_policy(kernel, "policy0")
    policy.hardware_max_khz = 2_200_000
    original = save_original(kernel, found)
    assert (original.at_highest, original.hardware_max_khz) == (True, 2_200_000)
    policy.user_max_khz = 2_500_000  # our cap, beyond what the hardware offers for now
    assert own_values(kernel, found, original, Written((2_500_000,))) == {"scaling_max_freq": True}


def test_a_limit_somebody_had_set_comes_back() -> None:
    kernel, policy, original = capped(KernelPolicy(user_max_khz=2_750_000))
    restore(kernel, policy, original, CAPPED)
    assert kernel.text("policy0", "scaling_max_freq") == "2750000"


@pytest.mark.parametrize("foreign_khz", [1_200_000, 2_000_000])
@pytest.mark.parametrize("cooling_state", [0, 1])
def test_the_value_of_another_writer_is_left_alone(foreign_khz: int, cooling_state: int) -> None:
    policy = KernelPolicy(cooling_state=cooling_state)
    kernel, found, original = capped(policy)
    policy.user_max_khz = foreign_khz
    writes = len(kernel.log)
    assert own_values(kernel, found, original, CAPPED) == {"scaling_max_freq": False}
    assert restore(kernel, found, original, CAPPED, wait=soon) == RestoreOutcome(
        "policy0", (), ("scaling_max_freq",)
    )
    assert len(kernel.log) == writes


def test_the_original_put_back_by_somebody_else_is_drift_but_no_obstacle() -> None:
    policy = KernelPolicy()
    kernel, found, original = capped(policy)
    policy.user_max_khz = 3_000_000
    assert own_values(kernel, found, original, CAPPED) == {"scaling_max_freq": False}
    assert restore(kernel, found, original, CAPPED).restored == ("scaling_max_freq",)


def test_a_throttle_is_no_drift() -> None:
    policy = KernelPolicy()
    kernel, found, original = capped(policy)
    policy.cooling_state = 3
    throttling = Throttling(kernel)
    assert own_values(kernel, found, original, CAPPED, throttling) == {"scaling_max_freq": True}


def test_restoring_again_changes_nothing() -> None:
    kernel, policy, original = capped(KernelPolicy())
    first = restore(kernel, policy, original, CAPPED)
    assert restore(kernel, policy, original, CAPPED) == first
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_nothing_was_written_nothing_is_touched() -> None:
    kernel, policy, original = capped(KernelPolicy())
    writes = len(kernel.log)
    assert restore(kernel, policy, original, Written()) == RestoreOutcome("policy0", (), ())
    assert len(kernel.log) == writes


def moved(policy: KernelPolicy, max_khz: int, min_khz: int) -> tuple[Kernel, CpuPolicy, Original]:
    kernel = Kernel(policy)
    (found,) = discover(kernel)
    original = save_original(kernel, found)
    request = LimitRequest("policy0", max_khz, min_khz)
    apply_limits(kernel, {"policy0": found}, [request], may_move_minimum=True)
    return kernel, found, original


@pytest.mark.parametrize(("max_khz", "min_khz"), [(2_500_000, 2_000_000), (1_200_000, 1_100_000)])
@pytest.mark.parametrize("table_khz", [None, TABLE])
def test_both_limits_come_back(
    max_khz: int, min_khz: int, table_khz: tuple[int, ...] | None
) -> None:
    policy = KernelPolicy(user_max_khz=2_000_000, user_min_khz=1_500_000, table_khz=table_khz)
    kernel, found, original = moved(policy, max_khz, min_khz)
    outcome = restore(kernel, found, original, Written((max_khz,), (min_khz,)))
    upper_first = ("scaling_max_freq", "scaling_min_freq")
    raising = max_khz < 2_000_000
    assert outcome.restored == (upper_first if raising else upper_first[::-1])
    assert policy.limits_khz() == (1_500_000, 2_000_000)


def test_two_limits_between_the_same_entries_come_back() -> None:
    policy = KernelPolicy(table_khz=TABLE)
    kernel, found, original = moved(policy, 1_700_000, 1_700_000)
    assert policy.limits_khz() == (1_500_000, 1_500_000)
    policy.user_max_khz = 2_500_000  # a later cap, without a lower limit
    written = Written((1_700_000, 2_500_000), (1_700_000,))
    assert own_values(kernel, found, original, written)["scaling_min_freq"]
    restore(kernel, found, original, written)
    assert policy.limits_khz() == (1_000_000, 3_000_000)


def test_our_lower_limit_under_a_foreign_upper_one_is_taken_away() -> None:
    policy = KernelPolicy()
    kernel, found, original = moved(policy, 2_500_000, 2_000_000)
    policy.user_max_khz = 1_750_000
    outcome = restore(kernel, found, original, Written((2_500_000,), (2_000_000,)), wait=soon)
    assert outcome == RestoreOutcome("policy0", ("scaling_min_freq",), ("scaling_max_freq",))
    assert policy.limits_khz() == (1_000_000, 1_750_000)


def test_a_foreign_lower_limit_is_left_alone() -> None:
    policy = KernelPolicy()
    kernel, found, original = moved(policy, 2_500_000, 2_000_000)
    policy.user_min_khz = 1_250_000
    outcome = restore(kernel, found, original, Written((2_500_000,), (2_000_000,)), wait=soon)
    assert outcome == RestoreOutcome("policy0", ("scaling_max_freq",), ("scaling_min_freq",))
    assert policy.limits_khz() == (1_250_000, 3_000_000)


def test_an_inactive_policy_is_restored_when_its_cpus_are_back() -> None:
    policy = KernelPolicy()
    kernel, found, original = capped(policy)
    policy.online = False
    with pytest.raises(PolicyInactive, match="policy0"):
        restore(kernel, found, original, CAPPED)
    (inactive,) = discover(kernel)
    policy.online = True
    assert restore(kernel, inactive, original, CAPPED).restored == ("scaling_max_freq",)
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


def test_one_failing_limit_does_not_keep_the_other() -> None:
    policy = KernelPolicy()
    kernel, found, original = moved(policy, 2_500_000, 2_000_000)
    written = Written((2_500_000,), (2_000_000,))
    kernel.faults["write", "scaling_max_freq"] = errno.EIO
    with pytest.raises(DeviceFault, match="scaling_max_freq"):
        restore(kernel, found, original, written)
    assert policy.limits_khz() == (1_000_000, 2_500_000)
    kernel.faults.clear()
    restore(kernel, found, original, written)
    assert policy.limits_khz() == (1_000_000, 3_000_000)


def test_a_file_that_has_become_unreadable_elsewhere_does_not_keep_the_limit() -> None:
    kernel, found, original = capped(KernelPolicy())
    kernel.faults["read", "related_cpus"] = errno.EIO
    assert restore(kernel, found, original, CAPPED).restored == ("scaling_max_freq",)


def test_a_restore_that_does_not_take_is_an_error() -> None:
    kernel, found, original = capped(KernelPolicy())
    kernel.deaf.add("scaling_max_freq")
    with pytest.raises(ValueIgnored, match="scaling_max_freq: the kernel took the value and kept"):
        restore(kernel, found, original, CAPPED, wait=soon)
    kernel.deaf.clear()
    assert restore(kernel, found, original, CAPPED).restored == ("scaling_max_freq",)


def test_a_restore_that_comes_into_force_late_is_waited_for() -> None:
    kernel = Kernel(KernelPolicy(), lag_reads=3)
    (found,) = discover(kernel)
    original = save_original(kernel, found)
    apply_limits(kernel, {"policy0": found}, [LimitRequest("policy0", 1_500_000)], wait=soon)
    pauses_s: list[float] = []
    restore(kernel, found, original, CAPPED, wait=pauses_s.append)
    assert len(pauses_s) == 1 + 3  # one look, and once for each read that still showed ours


def test_the_original_of_another_policy_is_never_used() -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1))
    first, second = discover(kernel)
    original = save_original(kernel, first)
    with pytest.raises(ValueError, match="the original is of policy0, not of policy1"):
        restore(kernel, second, original, CAPPED)
