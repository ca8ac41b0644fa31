"""Which policies a command means. Pure: values in, policies or `Refused` out."""

from collections.abc import Collection, Mapping, Sequence

from energy.cpufreq.policy import CpuPolicy
from runtime.agent.wire.refusals import Refused


def choose_targets(
    policies: Mapping[str, CpuPolicy], named: Sequence[str] | None, drifted: Collection[str]
) -> tuple[CpuPolicy, ...]:
    """The named policies, or every active one that nobody else has changed.

    A name that cannot be followed is refused; without names, such policies are passed over.
    """
    if named is None:
        chosen = tuple(
            policy for policy in policies.values() if policy.active and policy.name not in drifted
        )
        if not chosen:
            raise _nothing_left(policies, drifted)
        return chosen
    names = tuple(dict.fromkeys(named))
    for name in names:
        if name not in policies:
            raise Refused(
                "policy_unknown",
                f"{name}: no such frequency policy on this host",
                field="policies",
                value=name,
                allowed=_listed(policies),
            )
    for name in names:
        if not policies[name].active:
            raise Refused(
                "policy_inactive",
                f"{name}: inactive, all of its CPUs are offline",
                field="policies",
                value=name,
            )
        if name in drifted:
            raise drifted_refusal(name)
    _check_domains(policies, frozenset(names))
    return tuple(policies[name] for name in names)


def drifted_refusal(name: str) -> Refused:
    return Refused(
        "drifted",
        f"{name}: somebody else changed its limits, it is left alone until the lease ends",
        field="policies",
        value=name,
    )


def _nothing_left(policies: Mapping[str, CpuPolicy], drifted: Collection[str]) -> Refused:
    if not policies:
        return Refused("unsupported", "this host has no frequency policies")
    if drifted:
        return Refused("drifted", "somebody else changed the limits of every active policy")
    return Refused("policy_inactive", "the CPUs of every frequency policy are offline")


def _check_domains(policies: Mapping[str, CpuPolicy], names: Collection[str]) -> None:
    """CPUs of one clock domain run at the highest of their caps: a part of it changes nothing."""
    owners = {
        cpu: policy.name for policy in policies.values() if policy.active for cpu in policy.cpus
    }
    for name in names:
        members = dict.fromkeys(owners[cpu] for cpu in policies[name].domain_cpus if cpu in owners)
        missing = [member for member in members if member not in names]
        if missing:
            raise Refused(
                "unsupported",
                f"{name} shares its clock with {_listed(missing)}, name all of them or none",
                field="policies",
                value=name,
                allowed=f"together with {_listed(missing)}",
            )


def _listed(names: Collection[str]) -> str:
    shown = list(names)[:8]
    more = len(names) - len(shown)
    return ", ".join(shown) + (f" and {more} more" if more else "")
