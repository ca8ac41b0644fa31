"""Puts the limits of a host back: at the end of a lease, after a crash, and as the service stops.

An entry leaves the ledger when its policy reads back as before, or when somebody else has changed
it meanwhile. What cannot be restored now stays there and is tried again.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import replace

from energy.cpufreq.discover import discover
from energy.cpufreq.originals import RestoreOutcome, restore
from energy.cpufreq.policy import CpuPolicy
from energy.errors import HostError, PolicyUnknown
from energy.tree import Tree
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import OriginalsEntry, OriginalsJournal
from runtime.agent.core.ledger import Ledger
from runtime.agent.wire.messages import Released


def restore_policies(
    tree: Tree,
    policies: Mapping[str, CpuPolicy],
    ledger: Ledger,
    names: Iterable[str],
    audit: AuditLog,
    reason: str,
) -> Released:
    """Restore what the ledger holds of `names`; never raises because of one policy."""
    restored: list[str] = []
    left_alone: list[str] = []
    failed: dict[str, str] = {}
    for name in list(names):
        changed = ledger.changed[name]
        try:
            outcome = _restore(tree, policies.get(name), changed.entry)
        except (
            Exception
        ) as error:  # even a mistake in this code must not keep the others from being restored
            failed[name] = str(error) if isinstance(error, HostError) else repr(error)
            if changed.problem != failed[name]:
                audit.event("restore_failed", reason=reason, policy=name, message=failed[name])
            ledger.changed[name] = replace(
                changed, request=None, last_read=None, problem=failed[name]
            )
            continue
        del ledger.changed[name]
        if outcome.left_alone:
            left_alone.append(name)
            attributes = " ".join(outcome.left_alone)
            audit.event("left_alone", reason=reason, policy=name, attributes=attributes)
        else:
            restored.append(name)
    ledger.settle()
    if restored:
        audit.event("restored", reason=reason, count=len(restored), policies=" ".join(restored))
    return Released(tuple(restored), tuple(left_alone), failed)


def _restore(tree: Tree, policy: CpuPolicy | None, entry: OriginalsEntry) -> RestoreOutcome:
    if policy is None:
        raise PolicyUnknown(entry.original.policy)
    return restore(tree, policy, entry.original, entry.written)


def restore_host(journal: OriginalsJournal, tree: Tree, audit: AuditLog) -> Released:
    """Restore a host whose agent is gone (`ExecStopPost`), from its journal alone.

    Raises `JournalCorrupt` when nobody knows the originals any more.
    """
    ledger = Ledger(journal)
    ledger.load(first_epoch=0)
    policies = by_name(discover(tree)) if ledger.changed else {}
    return restore_policies(tree, policies, ledger, ledger.changed, audit, "restore command")


def by_name(policies: Collection[CpuPolicy]) -> dict[str, CpuPolicy]:
    return {policy.name: policy for policy in policies}
