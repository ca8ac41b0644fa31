import errno

import pytest
from hypothesis import given
from hypothesis import strategies as st

from energy.cpufreq.discover import discover, read_policy
from energy.cpufreq.limits import check_request, read_limits
from energy.cpufreq.policy import (
    CpuPolicy,
    FrequencyLimits,
    LimitOutcome,
    LimitRequest,
    expected_max_khz,
    expected_min_khz,
)
from energy.errors import (
    AccessDenied,
    AttributeMissing,
    DeviceFault,
    FrequencyDenied,
    HostError,
    ModeUnsupported,
    PolicyInactive,
    PolicyUnknown,
    ReadOnlyTree,
    ValueGarbled,
    ValueRejected,
)
from tests.energy.cpufreq.actuators import apply_limits
from tests.energy.cpufreq.kernel import Kernel, KernelPolicy

GENOA = KernelPolicy(
    hardware_min_khz=1_500_000,
    hardware_max_khz=3_800_241,
    table_khz=(1_500_000, 2_300_000, 3_250_000),
)
TABLE = (1_000_000, 1_500_000, 2_000_000, 2_500_000, 3_000_000)

tables = st.none() | st.lists(
    st.integers(1_000_000, 3_000_000), min_size=1, max_size=6, unique=True
).map(lambda entries: tuple(sorted(entries)))
frequencies_khz = st.integers(0, 4_000_000)


def known(kernel: Kernel) -> dict[str, CpuPolicy]:
    return {policy.name: policy for policy in discover(kernel)}


def never(pause_s: float) -> None:
    raise AssertionError("nothing to wait for")


@pytest.mark.parametrize(
    ("khz", "expected_khz"),
    [
        (3_800_241, 3_250_000),
        (9_000_000, 3_250_000),
        (3_250_000, 3_250_000),
        (3_249_999, 2_300_000),
        (1_500_000, 1_500_000),
        (1, 1_500_000),
    ],
)
def test_genoa_reads_back_an_entry_of_its_table(khz: int, expected_khz: int) -> None:
    policy = read_policy(Kernel(GENOA), "policy0")
    assert expected_max_khz(policy, khz) == expected_khz


@given(tables, frequencies_khz, frequencies_khz)
def test_the_kernel_is_foreseen(
    table_khz: tuple[int, ...] | None, max_khz: int, min_khz: int
) -> None:
    kernel = Kernel(KernelPolicy(table_khz=table_khz, user_max_khz=max_khz))
    policy = read_policy(kernel, "policy0")
    limits = read_limits(kernel, policy)
    assert limits.max_khz == expected_max_khz(policy, max_khz)
    # An entry of the table as upper limit, which is all that apply_limits ever writes.
    kernel.policies["policy0"].user_max_khz = limits.max_khz
    kernel.policies["policy0"].user_min_khz = min_khz
    expected_khz = expected_min_khz(policy, min_khz, limits.max_khz)
    assert read_limits(kernel, policy) == FrequencyLimits(expected_khz, limits.max_khz)


@pytest.mark.parametrize(
    ("request_khz", "floor_khz", "allowed"),
    [
        ((900_000, None), None, "1200000..3000000"),
        ((1_199_999, None), None, "1200000..3000000"),
        ((3_000_001, None), None, "1200000..3000000"),
        ((1_500_000, None), 1_600_000, "1600000..3000000"),
        ((1_500_000, 1_600_000), None, "1000000..1500000"),
        ((1_500_000, 900_000), None, "1000000..1500000"),
        ((999_999, 999_999), None, "1000000..3000000"),
    ],
)
def test_a_denied_frequency_names_what_is_allowed(
    request_khz: tuple[int, int | None], floor_khz: int | None, allowed: str
) -> None:
    policy = read_policy(Kernel(KernelPolicy()), "policy0")
    request = LimitRequest("policy0", *request_khz)
    with pytest.raises(FrequencyDenied) as caught:
        check_request(policy, request, FrequencyLimits(1_200_000, 3_000_000), floor_khz, True)
    assert caught.value.allowed == allowed


def test_the_floor_is_what_may_come_into_force() -> None:
    policy = read_policy(Kernel(GENOA), "policy0")
    limits = FrequencyLimits(1_500_000, 3_250_000)
    with pytest.raises(FrequencyDenied, match=r"2300000\.\.3800241"):
        check_request(policy, LimitRequest("policy0", 2_000_000), limits, 1_600_000, False)
    check_request(policy, LimitRequest("policy0", 2_300_000), limits, 1_600_000, False)
    # A floor that this policy cannot reach still lets it run free.
    check_request(policy, LimitRequest("policy0", 3_250_000), limits, 5_000_000, False)


def test_the_lower_limit_moves_only_where_the_operator_allows_it() -> None:
    kernel = Kernel(KernelPolicy())
    request = LimitRequest("policy0", 2_000_000, 1_500_000)
    with pytest.raises(ModeUnsupported, match="ask for max_khz alone"):
        apply_limits(kernel, known(kernel), [request])
    assert kernel.log == []
    apply_limits(kernel, known(kernel), [request], may_move_minimum=True)
    assert kernel.text("policy0", "scaling_min_freq") == "1500000"


def test_one_plain_decimal_write_and_what_is_in_force() -> None:
    kernel = Kernel(KernelPolicy())
    (outcome,) = apply_limits(
        kernel, known(kernel), [LimitRequest("policy0", 2_000_000)], wait=never
    )
    assert outcome == LimitOutcome("policy0", 2_000_000, 2_000_000, False, 1_000_000)
    assert kernel.log == [("policy0/scaling_max_freq", "2000000")]


def test_between_two_entries_the_lower_one_is_in_force() -> None:
    kernel = Kernel(GENOA)
    (outcome,) = apply_limits(kernel, known(kernel), [LimitRequest("policy0", 3_000_000)])
    assert outcome == LimitOutcome("policy0", 3_000_000, 2_300_000, True, 1_500_000)


def test_a_cap_between_two_entries_stays_when_somebody_raises_the_lower_limit() -> None:
    policy = KernelPolicy(table_khz=TABLE)
    kernel = Kernel(policy)
    apply_limits(kernel, known(kernel), [LimitRequest("policy0", 1_700_000)])
    policy.user_min_khz = 2_500_000
    assert kernel.text("policy0", "scaling_max_freq") == "1500000"


def test_a_throttle_is_reported_as_clamping_without_waiting_for_its_end() -> None:
    kernel = Kernel(KernelPolicy(bios_khz=1_500_000))
    (outcome,) = apply_limits(
        kernel, known(kernel), [LimitRequest("policy0", 2_000_000)], wait=never
    )
    assert (outcome.effective_khz, outcome.clamped) == (1_500_000, True)


@pytest.mark.parametrize("lag_reads", [1, 3])
def test_a_limit_that_comes_into_force_late_is_waited_for(lag_reads: int) -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1), lag_reads=lag_reads)
    pauses_s: list[float] = []
    outcomes = apply_limits(
        kernel,
        known(kernel),
        [LimitRequest("policy0", 2_000_000, 1_200_000), LimitRequest("policy1", 1_500_000)],
        may_move_minimum=True,
        wait=pauses_s.append,
    )
    assert [outcome.effective_khz for outcome in outcomes] == [2_000_000, 1_500_000]
    assert outcomes[0].effective_min_khz == 1_200_000
    assert len(pauses_s) == lag_reads  # once for all policies


def test_a_limit_that_never_comes_is_reported_after_a_bounded_wait() -> None:
    kernel = Kernel(KernelPolicy())
    kernel.deaf.add("scaling_max_freq")
    pauses_s: list[float] = []
    (outcome,) = apply_limits(
        kernel, known(kernel), [LimitRequest("policy0", 2_000_000)], wait=pauses_s.append
    )
    assert (outcome.effective_khz, outcome.clamped) == (3_000_000, True)
    assert sum(pauses_s) < 0.1


@pytest.mark.parametrize(
    ("first", "second", "order"),
    [
        ((2_000_000, 1_000_000), (1_500_000, 1_200_000), ["min", "max"]),
        ((2_000_000, 1_000_000), (2_800_000, 2_500_000), ["max", "min"]),
    ],
)
def test_the_two_limits_never_cross(
    first: tuple[int, int], second: tuple[int, int], order: list[str]
) -> None:
    kernel = Kernel(KernelPolicy(user_max_khz=first[0], user_min_khz=first[1]))
    apply_limits(kernel, known(kernel), [LimitRequest("policy0", *second)], may_move_minimum=True)
    assert [path.removeprefix("policy0/scaling_")[:3] for path, _ in kernel.log] == order


@pytest.mark.parametrize(
    ("number", "kind"),
    [
        (errno.EBUSY, PolicyInactive),
        (errno.ENOENT, AttributeMissing),
        (errno.EPERM, AccessDenied),
        (errno.EACCES, AccessDenied),
        (errno.EROFS, ReadOnlyTree),
        (errno.EINVAL, ValueRejected),
        (errno.EIO, DeviceFault),
    ],
)
@pytest.mark.parametrize("action", ["read", "write"])
def test_every_fault_has_its_own_error(number: int, kind: type[HostError], action: str) -> None:
    kernel = Kernel(KernelPolicy())
    policies = known(kernel)
    kernel.faults[action, "policy0/scaling_max_freq"] = number
    with pytest.raises(kind, match="policy0"):
        apply_limits(kernel, policies, [LimitRequest("policy0", 2_000_000)])
    assert kernel.log == []


def test_a_garbled_limit_is_named() -> None:
    kernel = Kernel(KernelPolicy(extra={"scaling_max_freq": "fast"}))
    with pytest.raises(ValueGarbled, match=r"scaling_max_freq: holds 'fast'"):
        apply_limits(kernel, known(kernel), [LimitRequest("policy0", 2_000_000)])


def test_unknown_and_inactive_policies() -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1, online=False))
    policies = known(kernel)
    request = LimitRequest("policy1", 2_000_000)
    with pytest.raises(PolicyUnknown, match="policy9"):
        apply_limits(kernel, policies, [LimitRequest("policy9", 2_000_000)])
    with pytest.raises(PolicyInactive, match="policy1"):
        apply_limits(kernel, policies, [LimitRequest("policy0", 2_000_000), request])
    assert kernel.log == []
    kernel.policies["policy1"].online = True
    assert apply_limits(kernel, policies, [request])[0].effective_khz == 2_000_000


def test_nothing_is_written_unless_every_request_is_valid() -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1, hardware_max_khz=2_000_000))
    requests = [LimitRequest("policy0", 2_500_000), LimitRequest("policy1", 2_500_000)]
    with pytest.raises(FrequencyDenied, match="policy1"):
        apply_limits(kernel, known(kernel), requests)
    assert kernel.log == []


@pytest.mark.parametrize("failing", ["write", "read"])
def test_all_or_none_puts_back_in_reverse(failing: str) -> None:
    kernel = Kernel(*[KernelPolicy(cpu=cpu, user_max_khz=2_500_000) for cpu in range(3)])
    policies = known(kernel)
    requests = [LimitRequest(name, 1_500_000) for name in policies]

    class Failing(Kernel):
        """The third policy fails once something was written."""

        def _check(self, action: str, path: str) -> None:
            if action == failing and self.log and path.endswith("policy2/scaling_max_freq"):
                raise OSError(errno.EIO, "broken")

    broken = Failing()
    broken.policies = kernel.policies
    with pytest.raises(DeviceFault, match="policy2"):
        apply_limits(broken, policies, requests)
    undone = [path for path, text in broken.log if text == "2500000"]
    assert undone[-2:] == ["policy1/scaling_max_freq", "policy0/scaling_max_freq"]
    assert {kernel.text(name, "scaling_max_freq") for name in ("policy0", "policy1")} == {"2500000"}


def test_what_cannot_be_put_back_is_a_note_of_the_first_error() -> None:
    kernel = Kernel(KernelPolicy(), KernelPolicy(cpu=1))
    policies = known(kernel)

    class Leaving(Kernel):
        """The first policy goes offline as the second fails."""

        def write(self, path: str, text: str) -> None:
            if "policy1" in path:
                self.policies["policy0"].online = False
                raise OSError(errno.EROFS, "read-only")
            super().write(path, text)

    leaving = Leaving()
    leaving.policies = kernel.policies
    requests = [LimitRequest(name, 1_500_000) for name in policies]
    with pytest.raises(ReadOnlyTree) as caught:
        apply_limits(leaving, policies, requests)
    (note,) = caught.value.__notes__
    assert note.startswith("policy0: scaling_max_freq could not be put back: policy0: inactive")


@pytest.mark.parametrize("previous_khz", [None, 2_500_000])
def test_putting_back_does_not_turn_a_throttle_into_a_limit(previous_khz: int | None) -> None:
    user_khz = 2**31 - 1 if previous_khz is None else previous_khz
    throttled = KernelPolicy(user_max_khz=user_khz, bios_khz=2_000_000)
    kernel = Kernel(throttled, KernelPolicy(cpu=1))
    kernel.faults["write", "policy1/scaling_max_freq"] = errno.EIO
    previous = {} if previous_khz is None else {"policy0": LimitRequest("policy0", previous_khz)}
    with pytest.raises(DeviceFault):
        apply_limits(
            kernel,
            known(kernel),
            [LimitRequest("policy0", 1_500_000), LimitRequest("policy1", 1_500_000)],
            previous=previous,
        )
    throttled.bios_khz = None
    assert kernel.text("policy0", "scaling_max_freq") == str(previous_khz or 3_000_000)


def test_putting_back_finds_a_lower_limit_under_a_throttle() -> None:
    throttled = KernelPolicy(user_max_khz=2_500_000, user_min_khz=2_000_000, bios_khz=1_500_000)
    kernel = Kernel(throttled, KernelPolicy(cpu=1))
    kernel.faults["write", "policy1/scaling_max_freq"] = errno.EIO
    with pytest.raises(DeviceFault):
        apply_limits(
            kernel,
            known(kernel),
            [LimitRequest("policy0", 1_500_000, 1_200_000), LimitRequest("policy1", 1_500_000)],
            may_move_minimum=True,
            previous={"policy0": LimitRequest("policy0", 2_500_000, 2_000_000)},
        )
    throttled.bios_khz = None
    assert throttled.limits_khz() == (2_000_000, 2_500_000)


def test_a_failed_write_that_did_change_the_value_is_put_back_too() -> None:
    class Half(Kernel):
        """Reports an error for a write that got through."""

        def write(self, path: str, text: str) -> None:
            super().write(path, text)
            if text == "1500000":
                raise OSError(errno.EIO, "late")

    kernel = Half(KernelPolicy())
    with pytest.raises(DeviceFault):
        apply_limits(kernel, known(kernel), [LimitRequest("policy0", 1_500_000)])
    assert kernel.text("policy0", "scaling_max_freq") == "3000000"


@given(
    tables,
    st.lists(st.tuples(frequencies_khz, st.none() | frequencies_khz), min_size=1, max_size=4),
)
def test_whatever_is_asked_ends_inside_what_was_asked_or_changes_nothing(
    table_khz: tuple[int, ...] | None, asked: list[tuple[int, int | None]]
) -> None:
    kernel = Kernel(KernelPolicy(table_khz=table_khz))
    policies = known(kernel)
    for max_khz, min_khz in asked:
        before = kernel.policies["policy0"].attributes()
        request = LimitRequest("policy0", max_khz, min_khz)
        try:
            (outcome,) = apply_limits(
                kernel, policies, [request], may_move_minimum=True, wait=never
            )
        except FrequencyDenied:
            assert kernel.policies["policy0"].attributes() == before
            continue
        lowest_khz = policies["policy0"].table_khz or (1_000_000,)
        assert outcome.effective_khz <= max(max_khz, lowest_khz[0])
        assert outcome.effective_khz == expected_max_khz(policies["policy0"], max_khz)
        assert outcome.clamped == (outcome.effective_khz != max_khz)
        assert outcome.effective_min_khz <= outcome.effective_khz
