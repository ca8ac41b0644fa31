from dataclasses import replace

import pytest

from energy.cpufreq.policy import CpuPolicy
from runtime.agent.core.targets import choose_targets
from runtime.agent.wire.refusals import Refused

POLICY = CpuPolicy(
    name="policy0",
    cpus=(0,),
    domain_cpus=(0,),
    driver="acpi-cpufreq",
    governors=("performance",),
    governor="performance",
    hardware_min_khz=1_000_000,
    hardware_max_khz=2_000_000,
    table_khz=None,
    boost=None,
    active=True,
)


def policies(count: int, domain: int = 1, inactive: tuple[int, ...] = ()) -> dict[str, CpuPolicy]:
    return {
        f"policy{number}": replace(
            POLICY,
            name=f"policy{number}",
            cpus=(number,),
            domain_cpus=tuple(range(number - number % domain, number - number % domain + domain)),
            active=number not in inactive,
        )
        for number in range(count)
    }


def chosen(
    among: dict[str, CpuPolicy], named: tuple[str, ...] | None = None, drifted: tuple[str, ...] = ()
) -> list[str]:
    return [policy.name for policy in choose_targets(among, named, drifted)]


def code(
    among: dict[str, CpuPolicy], named: tuple[str, ...] | None = None, drifted: tuple[str, ...] = ()
) -> str:
    with pytest.raises(Refused) as refused:
        choose_targets(among, named, drifted)
    return refused.value.code


def test_without_names_inactive_and_drifted_policies_are_passed_over() -> None:
    assert chosen(policies(4, inactive=(1,)), drifted=("policy2",)) == ["policy0", "policy3"]


def test_a_name_that_cannot_be_followed_is_refused() -> None:
    among = policies(3, inactive=(1,))
    assert code(among, ("policy0", "policy7")) == "policy_unknown"
    assert code(among, ("policy0", "policy1")) == "policy_inactive"
    assert code(among, ("policy0", "policy2"), drifted=("policy2",)) == "drifted"


def test_a_clock_domain_is_named_whole() -> None:
    among = policies(4, domain=2)
    assert chosen(among, ("policy3", "policy2")) == ["policy3", "policy2"]
    with pytest.raises(Refused, match="policy2 shares its clock with policy3") as refused:
        choose_targets(among, ("policy0", "policy1", "policy2"), ())
    assert refused.value.code == "unsupported"


def test_offline_members_of_a_domain_need_not_be_named() -> None:
    assert chosen(policies(2, domain=2, inactive=(1,)), ("policy0",)) == ["policy0"]


def test_when_nothing_is_left_the_reason_is_told() -> None:
    assert code({}) == "unsupported"
    assert code(policies(1, inactive=(0,))) == "policy_inactive"
    assert code(policies(1), drifted=("policy0",)) == "drifted"


def test_a_refusal_on_a_large_host_stays_short() -> None:
    among = policies(64, domain=64)
    with pytest.raises(Refused, match="and 55 more") as refused:
        choose_targets(among, ("policy0",), ())
    assert len(str(refused.value)) < 200
