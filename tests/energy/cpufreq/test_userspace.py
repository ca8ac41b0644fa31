import errno

import pytest

from energy.cpufreq.discover import discover
from energy.cpufreq.originals import Original, Written, own_values, restore, save_original
from energy.cpufreq.policy import CpuPolicy, LimitOutcome, LimitRequest
from energy.errors import (
    DeviceFault,
    FrequencyDenied,
    ModeUnsupported,
    PolicyUnknown,
    ValueIgnored,
)
from tests.energy.cpufreq.actuators import apply_speeds
from tests.energy.cpufreq.kernel import Kernel, KernelPolicy

TABLE = (1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000)
WRITTEN = Written(governor_switched=True, speed_khz=(1_500_000,))


def known(kernel: Kernel) -> dict[str, CpuPolicy]:
    return {policy.name: policy for policy in discover(kernel)}


def switched(policy: KernelPolicy) -> tuple[Kernel, CpuPolicy, Original]:
    """A kernel whose policy runs at 1.5 GHz by our doing."""
    kernel = Kernel(policy)
    policies = known(kernel)
    original = save_original(kernel, policies["policy0"], with_governor=True)
    apply_speeds(kernel, policies, [LimitRequest("policy0", 1_500_000)])
    return kernel, policies["policy0"], original


def test_the_governor_is_switched_before_the_speed_is_set() -> None:
    kernel = Kernel(KernelPolicy(table_khz=TABLE))
    (outcome,) = apply_speeds(kernel, known(kernel), [LimitRequest("policy0", 1_500_000)])
    assert outcome == LimitOutcome("policy0", 1_500_000, 1_500_000, False, 1_000_000)
    assert kernel.log == [
        ("policy0/scaling_governor", "userspace"),
        ("policy0/scaling_setspeed", "1500000"),
    ]


def test_a_speed_between_two_entries_is_never_rounded_up() -> None:
    kernel = Kernel(KernelPolicy(table_khz=TABLE))
    (outcome,) = apply_speeds(kernel, known(kernel), [LimitRequest("policy0", 1_999_999)])
    assert (outcome.effective_khz, outcome.clamped) == (1_500_000, True)


def test_a_speed_that_the_driver_drops_is_seen_in_the_read_back() -> None:
    kernel = Kernel(KernelPolicy(governor="userspace", speed_khz=2_500_000))
    kernel.deaf.add("scaling_setspeed")
    (outcome,) = apply_speeds(kernel, known(kernel), [LimitRequest("policy0", 1_500_000)])
    assert (outcome.effective_khz, outcome.clamped) == (2_500_000, True)


def test_what_is_not_offered_is_refused() -> None:
    active = KernelPolicy(
        driver="intel_pstate", governors=("performance", "powersave"), governor="powersave"
    )
    kernel = Kernel(active, KernelPolicy(cpu=1, user_min_khz=1_200_000))
    policies = known(kernel)
    with pytest.raises(ModeUnsupported, match="intel_pstate has no userspace governor"):
        apply_speeds(kernel, policies, [LimitRequest("policy0", 1_500_000)])
    with pytest.raises(FrequencyDenied, match=r"1200000\.\.3000000"):
        apply_speeds(kernel, policies, [LimitRequest("policy1", 1_100_000)])
    with pytest.raises(ModeUnsupported, match="lower limit"):
        apply_speeds(kernel, policies, [LimitRequest("policy1", 1_500_000, 1_200_000)])
    with pytest.raises(PolicyUnknown):
        apply_speeds(kernel, policies, [LimitRequest("policy2", 1_500_000)])
    assert kernel.log == []


def test_all_or_none() -> None:
    kernel = Kernel(
        KernelPolicy(),
        KernelPolicy(cpu=1, governor="userspace", speed_khz=2_500_000),
        KernelPolicy(cpu=2),
    )
    kernel.faults["write", "policy2/scaling_setspeed"] = errno.EIO
    policies = known(kernel)
    before = {name: policy.attributes() for name, policy in kernel.policies.items()}
    with pytest.raises(DeviceFault):
        apply_speeds(kernel, policies, [LimitRequest(name, 1_500_000) for name in policies])
    assert {name: policy.attributes() for name, policy in kernel.policies.items()} == before


def test_restoring_switches_the_governor_back() -> None:
    kernel, policy, original = switched(KernelPolicy(governor="performance"))
    assert own_values(kernel, policy, original, WRITTEN) == {
        "scaling_governor": True,
        "scaling_setspeed": True,
    }
    assert restore(kernel, policy, original, WRITTEN).restored == ("scaling_governor",)
    assert kernel.text("policy0", "scaling_governor") == "performance"
    writes = len(kernel.log)
    assert restore(kernel, policy, original, WRITTEN).restored == ("scaling_governor",)
    assert len(kernel.log) == writes


def test_another_governor_is_left_alone() -> None:
    kernel, policy, original = switched(KernelPolicy())
    kernel.policies["policy0"].governor = "powersave"
    assert own_values(kernel, policy, original, WRITTEN)["scaling_governor"] is False
    assert restore(kernel, policy, original, WRITTEN).left_alone == ("scaling_governor",)
    assert kernel.text("policy0", "scaling_governor") == "powersave"


def test_the_speed_comes_back_where_userspace_was_the_governor() -> None:
    before = KernelPolicy(governor="userspace", speed_khz=2_500_000, table_khz=TABLE)
    kernel, policy, original = switched(before)
    written = Written(speed_khz=(1_500_000,))
    assert restore(kernel, policy, original, written).restored == ("scaling_setspeed",)
    assert kernel.text("policy0", "scaling_setspeed") == "2500000"
    assert restore(kernel, policy, original, written).restored == ("scaling_setspeed",)


def test_limits_come_back_before_the_speed_that_they_would_bound() -> None:
    before = KernelPolicy(governor="userspace", speed_khz=2_500_000)
    kernel, policy, original = switched(before)
    before.user_max_khz = 1_200_000
    written = Written(max_khz=(1_200_000,), speed_khz=(1_500_000,))
    outcome = restore(kernel, policy, original, written)
    assert outcome.restored == ("scaling_max_freq", "scaling_setspeed")
    assert kernel.text("policy0", "scaling_setspeed") == "2500000"


@pytest.mark.parametrize("speed_khz", [1_800_000, 3_000_000])
def test_the_speed_of_another_writer_is_left_alone(speed_khz: int) -> None:
    before = KernelPolicy(governor="userspace", speed_khz=2_500_000)
    kernel, policy, original = switched(before)
    before.speed_khz = speed_khz
    written = Written(speed_khz=(1_500_000,))
    assert restore(kernel, policy, original, written).left_alone == ("scaling_setspeed",)
    assert kernel.text("policy0", "scaling_setspeed") == str(speed_khz)


@pytest.mark.parametrize("deaf", ["scaling_governor", "scaling_setspeed"])
def test_a_restore_that_does_not_take_is_an_error(deaf: str) -> None:
    governor = "userspace" if deaf == "scaling_setspeed" else "schedutil"
    kernel, policy, original = switched(KernelPolicy(governor=governor, speed_khz=2_500_000))
    kernel.deaf.add(deaf)
    written = Written(governor_switched=governor != "userspace", speed_khz=(1_500_000,))
    with pytest.raises(ValueIgnored, match=deaf):
        restore(kernel, policy, original, written)
    kernel.deaf.clear()
    assert restore(kernel, policy, original, written).left_alone == ()
