"""Caps frequencies for the holder of the lease, and notices when somebody else changes them too.

Everything about a command is checked before anything is written; the originals and whatever may
be written are in the journal before the first write. Another writer is never fought: its policy is
left alone until the lease ends.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from energy.cpufreq.actuation import ACTUATORS
from energy.cpufreq.attributes import read_khz
from energy.cpufreq.discover import discover, read_policy
from energy.cpufreq.originals import Written, own_values
from energy.cpufreq.policy import (
    CpuPolicy,
    FrequencyLimits,
    LimitOutcome,
    LimitRequest,
    expected_max_khz,
)
from energy.cpufreq.throttling import Throttling
from energy.errors import FrequencyDenied, HostError, PolicyInactive
from energy.tree import Tree
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import OriginalsEntry
from runtime.agent.core.ledger import ChangedPolicy, Ledger
from runtime.agent.core.restore import by_name, restore_policies
from runtime.agent.core.state import JournalUnavailable
from runtime.agent.core.targets import choose_targets, drifted_refusal
from runtime.agent.service.settings import FrequencyRules
from runtime.agent.wire.messages import FrequencyRequest, FrequencySet, PolicyStatus, Released
from runtime.agent.wire.refusals import Refused, denied

_MOST_WRITTEN = 8
"""Values of one attribute that can be in doubt; only failing writes make it more than two."""


@dataclass(frozen=True, slots=True)
class Change:
    """A command that was found valid and has not been carried out yet."""

    requests: tuple[LimitRequest, ...]
    unchanged: tuple[LimitOutcome, ...]
    """Policies that have what was asked for: neither journaled nor written again."""
    left_alone: tuple[str, ...]


class FrequencyKeeper:
    """The frequency policies of the host, and what was done to them."""

    def __init__(self, tree: Tree, rules: FrequencyRules, ledger: Ledger, audit: AuditLog) -> None:
        self._tree = tree
        self._min_dwell_s = rules.min_dwell_ms / 1000
        self._actuator = ACTUATORS[rules.actuation](tree, rules.floor_khz, rules.may_move_minimum)
        self._ledger = ledger
        self._audit = audit
        self._changed_s: float | None = None
        self.policies: dict[str, CpuPolicy] = {}
        self.drifts = 0

    def refresh(self) -> None:
        """Look again which policies there are: CPUs come and go, boost moves their range."""
        self.policies = by_name(discover(self._tree))

    def prepare(self, request: FrequencyRequest, now_s: float) -> Change:
        """Check a command against the host as it is now; reads, but writes nothing."""
        self._wake()
        named = request.policies is not None
        drifted = self._ledger.drifted()
        left_alone = [] if named else sorted(drifted)
        requests: list[LimitRequest] = []
        unchanged: list[LimitOutcome] = []
        throttling = Throttling(self._tree)
        for policy in choose_targets(self.policies, request.policies, drifted):
            limit_request = LimitRequest(policy.name, request.max_khz, request.min_khz)
            try:
                changed = self._compare(policy, throttling)
                if changed is not None and changed.drifted:
                    if named:
                        raise drifted_refusal(policy.name)
                    left_alone.append(policy.name)
                elif (
                    changed is not None
                    and changed.request == limit_request
                    and changed.last_read is not None
                ):
                    unchanged.append(LimitOutcome.of(limit_request, changed.last_read))
                else:
                    self._check(policy, limit_request)
                    requests.append(limit_request)
            except PolicyInactive:
                if named:
                    raise
        if requests:
            self._check_dwell(now_s)
        return Change(tuple(requests), tuple(unchanged), tuple(left_alone))

    def carry_out(self, change: Change, now_s: float) -> FrequencySet:
        """Journal, write, read back: all of the policies or none."""
        outcomes: tuple[LimitOutcome, ...] = ()
        if change.requests:
            entries = {
                limit_request.policy: self._intended(limit_request)
                for limit_request in change.requests
            }
            before = {name: self._ledger.changed.get(name) for name in entries}
            previous = self._ledger.requests()
            self._ledger.cover(entries)
            self._changed_s = now_s
            for name, entry in entries.items():
                # Whatever happens now, it has to be restored until the outcome is known.
                self._ledger.changed[name] = ChangedPolicy(entry, None, None)
            try:
                outcomes = self._actuator.apply(self.policies, change.requests, previous)
            except HostError:
                self._keep_what_was_undone(before)
                raise
            self._record(change.requests, outcomes, entries)
        return FrequencySet(outcomes + change.unchanged, change.left_alone)

    def watch(self) -> str | None:
        """Compare changed policies with their last read-back; returns what could not be read."""
        problem = None
        throttling = Throttling(self._tree)
        for name, changed in list(self._ledger.changed.items()):
            policy = self.policies.get(name)
            if policy is None or changed.request is None or changed.drifted:
                continue
            try:
                self._compare(policy, throttling)
            except PolicyInactive:
                continue  # its limits come back with its CPUs
            except HostError as error:
                problem = str(error)
        return problem

    def statuses(self) -> tuple[PolicyStatus, ...]:
        return tuple(self._status(policy) for policy in self.policies.values())

    def _status(self, policy: CpuPolicy) -> PolicyStatus:
        changed = self._ledger.changed.get(policy.name)
        if changed is None:
            limit_khz = None
            with suppress(HostError):
                limit_khz = read_khz(self._tree, policy.name, "scaling_max_freq")
            return PolicyStatus(policy.name, policy.active, None, None, limit_khz, False)
        return PolicyStatus(
            name=policy.name,
            active=policy.active,
            original_max_khz=changed.entry.original.max_khz,
            requested_khz=None if changed.request is None else changed.request.max_khz,
            effective_khz=None if changed.last_read is None else changed.last_read.max_khz,
            drifted=changed.drifted,
        )

    def retry(self) -> None:
        """Try again what could not be restored when its lease ended."""
        self._ledger.settle()
        waiting = self._ledger.leftovers()
        if waiting:
            self._restore(waiting, "retry")

    def restore(self, reason: str) -> Released:
        """The lease is over: put everything back."""
        return self._restore(list(self._ledger.changed), reason)

    def _restore(self, names: Sequence[str], reason: str) -> Released:
        return restore_policies(self._tree, self.policies, self._ledger, names, self._audit, reason)

    def _wake(self) -> None:
        """Notice at once when an inactive policy is back."""
        for name, policy in self.policies.items():
            if not policy.active:
                with suppress(HostError):
                    self.policies[name] = read_policy(self._tree, name)

    def _compare(self, policy: CpuPolicy, throttling: Throttling) -> ChangedPolicy | None:
        """What is changed of the policy after a look at it; None: nothing, or nothing any more."""
        changed = self._ledger.changed.get(policy.name)
        if changed is None or changed.drifted:
            return changed
        with_minimum = bool(changed.entry.written.min_khz)
        if (
            changed.request is not None
            and changed.last_read is not None
            and self._actuator.is_unchanged(policy, changed.last_read, with_minimum)
        ):
            return changed
        last_read = self._actuator.read(policy)
        explained = own_values(
            self._tree, policy, changed.entry.original, changed.entry.written, throttling
        )
        if all(explained.values()):
            changed = replace(changed, last_read=last_read)
            self._ledger.changed[policy.name] = changed
            return changed
        foreign = " ".join(attribute for attribute, own in explained.items() if not own)
        if changed.request is None:
            # Left from an earlier lease and changed since: what is there now is the original.
            del self._ledger.changed[policy.name]
            self._audit.event("left_alone", policy=policy.name, attributes=foreign)
            return None
        self.drifts += 1
        changed = replace(changed, last_read=last_read, drifted=True)
        self._ledger.changed[policy.name] = changed
        self._audit.event(
            "drift",
            policy=policy.name,
            attributes=foreign,
            requested_khz=changed.request.max_khz if changed.request is not None else None,
            seen_khz=None if last_read is None else last_read.max_khz,
        )
        return changed

    def _check(self, policy: CpuPolicy, limit_request: LimitRequest) -> None:
        try:
            self._actuator.check(policy, limit_request)
        except FrequencyDenied as error:
            lower = error.value_khz == limit_request.min_khz != limit_request.max_khz
            raise denied(error, "min_khz" if lower else "max_khz") from error

    def _check_dwell(self, now_s: float) -> None:
        if self._changed_s is None:
            return
        wait_s = self._changed_s + self._min_dwell_s - now_s
        if wait_s > 0:
            raise Refused(
                "too_soon",
                f"the frequency was changed a moment ago, try again in {round(wait_s * 1000)} ms",
                allowed=f"one change in {round(self._min_dwell_s * 1000)} ms",
            )

    def _intended(self, limit_request: LimitRequest) -> OriginalsEntry:
        """The journal entry that covers the policy before, during and after the change."""
        policy = self.policies[limit_request.policy]
        written = self._actuator.writes_of(policy, limit_request)
        changed = self._ledger.changed.get(limit_request.policy)
        if changed is None:
            return OriginalsEntry(self._actuator.save_original(policy), written)
        # Never a new original over a journaled one: that would be our own value.
        return OriginalsEntry(changed.entry.original, _both(changed.entry.written, written))

    def _record(
        self,
        requests: Sequence[LimitRequest],
        outcomes: Sequence[LimitOutcome],
        entries: Mapping[str, OriginalsEntry],
    ) -> None:
        surprises: dict[str, OriginalsEntry] = {}
        throttling = Throttling(self._tree)
        for limit_request, outcome in zip(requests, outcomes, strict=True):
            policy = self.policies[limit_request.policy]
            entry = entries[limit_request.policy]
            newest = self._actuator.writes_of(policy, limit_request)
            exact = OriginalsEntry(entry.original, _newest(entry.written, newest))
            last_read = FrequencyLimits(outcome.effective_min_khz, outcome.effective_khz)
            self._ledger.changed[limit_request.policy] = ChangedPolicy(
                exact, limit_request, last_read
            )
            if outcome.effective_khz < expected_max_khz(policy, limit_request.max_khz) and not all(
                own_values(self._tree, policy, exact.original, exact.written, throttling).values()
            ):
                # Something that leaves no trace holds it lower: what our write led to is ours.
                resulting = self._actuator.writes_of(
                    policy, LimitRequest(policy.name, outcome.effective_khz)
                )
                surprises[limit_request.policy] = OriginalsEntry(
                    exact.original, _both(exact.written, resulting)
                )
        if surprises:
            for name, entry in surprises.items():
                self._ledger.changed[name] = replace(self._ledger.changed[name], entry=entry)
            with suppress(JournalUnavailable):  # it is done; the ledger keeps the problem
                self._ledger.cover(surprises)

    def _keep_what_was_undone(self, before: Mapping[str, ChangedPolicy | None]) -> None:
        """After a failed change that was undone; what was not undone is restored with a tick."""
        for name, changed in before.items():
            try:
                last_read = self._actuator.read(self.policies[name])
            except HostError:
                continue
            if (
                changed is not None
                and changed.request is not None
                and last_read == changed.last_read is not None
            ):
                entry = self._ledger.changed[name].entry
                self._ledger.changed[name] = replace(changed, entry=entry)


def _both(older: Written, newer: Written) -> Written:
    """Either may be in force."""

    def union(first: tuple[int, ...], second: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(dict.fromkeys((*reversed(second), *reversed(first))))[:_MOST_WRITTEN][::-1]

    return Written(
        max_khz=union(older.max_khz, newer.max_khz),
        min_khz=union(older.min_khz, newer.min_khz),
        governor_switched=older.governor_switched or newer.governor_switched,
        speed_khz=union(older.speed_khz, newer.speed_khz),
    )


def _newest(older: Written, newer: Written) -> Written:
    """The newer is in force; what it did not touch is as it was."""
    return Written(
        max_khz=newer.max_khz or older.max_khz,
        min_khz=newer.min_khz or older.min_khz,
        governor_switched=older.governor_switched or newer.governor_switched,
        speed_khz=newer.speed_khz or older.speed_khz,
    )
