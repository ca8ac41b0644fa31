"""Holds frequencies down for whoever has the lease, and notices when somebody else does it too.

Everything about a command is checked before anything is written; the originals and whatever may
be written are in the journal before the first write. Another writer is never fought: its policy is
left alone until the lease ends.
"""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

from energy.cpufreq.actuation import Actuator
from energy.cpufreq.attributes import read_khz
from energy.cpufreq.discover import discover, read_policy
from energy.cpufreq.limits import expected_max_khz
from energy.cpufreq.originals import Written, is_ours
from energy.cpufreq.policy import CpuPolicy, LimitOutcome, LimitRequest, Limits
from energy.cpufreq.throttling import Throttling
from energy.errors import FrequencyDenied, HostError, PolicyInactive
from energy.tree import Tree
from runtime.agent.core.audit import AuditLog
from runtime.agent.core.journal import Entry
from runtime.agent.core.ledger import Held, Ledger
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
    """Policies that are as wanted already: neither journaled nor written again."""
    left_alone: tuple[str, ...]


class FrequencyKeeper:
    """The frequency policies of the host, and what was done to them."""

    def __init__(self, tree: Tree, rules: FrequencyRules, ledger: Ledger, audit: AuditLog) -> None:
        self._tree = tree
        self._min_dwell_s = rules.min_dwell_ms / 1000
        self._actuator = Actuator(tree, rules.actuation, rules.floor_khz, rules.may_move_minimum)
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
            wanted = LimitRequest(policy.name, request.max_khz, request.min_khz)
            try:
                held = self._compare(policy, throttling)
                if held is not None and held.drifted:
                    if named:
                        raise drifted_refusal(policy.name)
                    left_alone.append(policy.name)
                elif held is not None and held.request == wanted and held.seen is not None:
                    unchanged.append(_unchanged(wanted, held.seen))
                else:
                    self._check(policy, wanted)
                    requests.append(wanted)
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
            entries = {wanted.policy: self._intended(wanted) for wanted in change.requests}
            before = {name: self._ledger.held.get(name) for name in entries}
            previous = self._ledger.requests()
            self._ledger.cover(entries)
            self._changed_s = now_s
            for name, entry in entries.items():
                # Whatever happens now, it has to be restored until the outcome is known.
                self._ledger.held[name] = Held(entry, None, None)
            try:
                outcomes = self._actuator.apply(self.policies, change.requests, previous)
            except HostError:
                self._keep_what_is_as_before(before)
                raise
            self._hold(change.requests, outcomes, entries)
        return FrequencySet(outcomes + change.unchanged, change.left_alone)

    def watch(self) -> str | None:
        """Compare the held policies with their last read-back; says what could not be read."""
        problem = None
        throttling = Throttling(self._tree)
        for name, held in list(self._ledger.held.items()):
            policy = self.policies.get(name)
            if policy is None or held.request is None or held.drifted:
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
        held = self._ledger.held.get(policy.name)
        if held is None:
            limit_khz = None
            with suppress(HostError):
                limit_khz = read_khz(self._tree, policy.name, "scaling_max_freq")
            return PolicyStatus(policy.name, policy.active, None, None, limit_khz, False)
        return PolicyStatus(
            name=policy.name,
            active=policy.active,
            original_max_khz=held.entry.original.max_khz,
            requested_khz=None if held.request is None else held.request.max_khz,
            effective_khz=None if held.seen is None else held.seen.max_khz,
            drifted=held.drifted,
        )

    def retry(self) -> None:
        """Try again what could not be restored when its lease ended."""
        self._ledger.settle()
        waiting = self._ledger.leftovers()
        if waiting:
            self._restore(waiting, "retry")

    def restore(self, reason: str) -> Released:
        """The lease is over: put everything back."""
        return self._restore(list(self._ledger.held), reason)

    def _restore(self, names: Sequence[str], reason: str) -> Released:
        return restore_policies(self._tree, self.policies, self._ledger, names, self._audit, reason)

    def _wake(self) -> None:
        """Notice at once when an inactive policy is back."""
        for name, policy in self.policies.items():
            if not policy.active:
                with suppress(HostError):
                    self.policies[name] = read_policy(self._tree, name)

    def _compare(self, policy: CpuPolicy, throttling: Throttling) -> Held | None:
        """What is held of the policy after a look at it; None: it is not, or not any more."""
        held = self._ledger.held.get(policy.name)
        if held is None or held.drifted:
            return held
        with_minimum = bool(held.entry.written.min_khz)
        if (
            held.request is not None
            and held.seen is not None
            and self._actuator.is_unchanged(policy, held.seen, with_minimum)
        ):
            return held
        seen = self._actuator.read(policy)
        ours = is_ours(self._tree, policy, held.entry.original, held.entry.written, throttling)
        if all(ours.values()):
            held = replace(held, seen=seen)
            self._ledger.held[policy.name] = held
            return held
        theirs = " ".join(attribute for attribute, own in ours.items() if not own)
        if held.request is None:
            # Left from an earlier lease and changed since: what is there now is the original.
            del self._ledger.held[policy.name]
            self._audit.event("left_alone", policy=policy.name, attributes=theirs)
            return None
        self.drifts += 1
        held = replace(held, seen=seen, drifted=True)
        self._ledger.held[policy.name] = held
        self._audit.event(
            "drift",
            policy=policy.name,
            attributes=theirs,
            requested_khz=held.request.max_khz if held.request is not None else None,
            seen_khz=None if seen is None else seen.max_khz,
        )
        return held

    def _check(self, policy: CpuPolicy, wanted: LimitRequest) -> None:
        try:
            self._actuator.check(policy, wanted)
        except FrequencyDenied as error:
            lower = error.value_khz == wanted.min_khz != wanted.max_khz
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

    def _intended(self, wanted: LimitRequest) -> Entry:
        """The journal entry that covers the policy before, during and after the change."""
        policy = self.policies[wanted.policy]
        written = self._actuator.writes_of(policy, wanted)
        held = self._ledger.held.get(wanted.policy)
        if held is None:
            return Entry(self._actuator.save_original(policy), written)
        # Never a new original over a journaled one: that would be our own value.
        return Entry(held.entry.original, _both(held.entry.written, written))

    def _hold(
        self,
        requests: Sequence[LimitRequest],
        outcomes: Sequence[LimitOutcome],
        entries: Mapping[str, Entry],
    ) -> None:
        surprises: dict[str, Entry] = {}
        throttling = Throttling(self._tree)
        for wanted, outcome in zip(requests, outcomes, strict=True):
            policy = self.policies[wanted.policy]
            entry = entries[wanted.policy]
            newest = self._actuator.writes_of(policy, wanted)
            exact = Entry(entry.original, _newest(entry.written, newest))
            seen = Limits(outcome.effective_min_khz, outcome.effective_khz)
            self._ledger.held[wanted.policy] = Held(exact, wanted, seen)
            if outcome.effective_khz < expected_max_khz(policy, wanted.max_khz) and not all(
                is_ours(self._tree, policy, exact.original, exact.written, throttling).values()
            ):
                # Something that leaves no trace holds it lower: what came of our write is ours.
                came_of_it = self._actuator.writes_of(
                    policy, LimitRequest(policy.name, outcome.effective_khz)
                )
                surprises[wanted.policy] = Entry(exact.original, _both(exact.written, came_of_it))
        if surprises:
            for name, entry in surprises.items():
                self._ledger.held[name] = replace(self._ledger.held[name], entry=entry)
            with suppress(JournalUnavailable):  # it is done; the ledger tells of the problem
                self._ledger.cover(surprises)

    def _keep_what_is_as_before(self, before: Mapping[str, Held | None]) -> None:
        """After a failed change that was undone; what was not undone is restored with a tick."""
        for name, held in before.items():
            try:
                seen = self._actuator.read(self.policies[name])
            except HostError:
                continue
            if held is not None and held.request is not None and seen == held.seen is not None:
                entry = self._ledger.held[name].entry
                self._ledger.held[name] = replace(held, entry=entry)


def _unchanged(wanted: LimitRequest, seen: Limits) -> LimitOutcome:
    clamped = seen.max_khz != wanted.max_khz
    return LimitOutcome(wanted.policy, wanted.max_khz, seen.max_khz, clamped, seen.min_khz)


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
