"""What the agent has changed on its host, in memory and in the journal.

The journal always covers at least what is true: it is saved before a change with everything that
change may write, and after a restore without what was put back. In memory stands what is known
exactly. Only `save` and `settle` touch the disk.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from energy.cpufreq.policy import FrequencyLimits, LimitRequest
from runtime.agent.core.journal import OriginalsEntry, OriginalsJournal, RecordedOriginals
from runtime.agent.core.state import JournalUnavailable


@dataclass(frozen=True, slots=True)
class ChangedPolicy:
    """One policy that is not as the agent found it."""

    entry: OriginalsEntry
    request: LimitRequest | None
    """What the lease asked for; None: the lease is over and it still has to be restored."""
    last_read: FrequencyLimits | None
    """The last read-back (its upper value is the speed under userspace); None: unknown."""
    drifted: bool = False
    problem: str | None = None
    """Why it could not be restored yet."""


class Ledger:
    """The changed policies and the last epoch."""

    def __init__(self, journal: OriginalsJournal) -> None:
        self._journal = journal
        self.changed: dict[str, ChangedPolicy] = {}
        self.epoch = 0
        self._saved: frozenset[str] | None = frozenset()
        # The policies in the journal; None when a failed save left that open.
        self.problem: str | None = None
        """Why the journal could not be saved; None once it could."""

    def load(self, first_epoch: int) -> RecordedOriginals:
        """Take over what an earlier start left to restore.

        Without a journal the epochs begin at `first_epoch`, which is the wall clock's second: a
        journal that was lost or removed does not bring old epochs back.
        """
        recorded = self._journal.load()
        self.epoch = first_epoch if recorded.epoch is None else recorded.epoch
        self._saved = frozenset(recorded.entries)
        self.changed = {
            name: ChangedPolicy(entry, None, None) for name, entry in recorded.entries.items()
        }
        return recorded

    def next_epoch(self) -> int:
        """A higher epoch than ever, durable; it is used up even if the journal cannot say so."""
        self.epoch += 1
        self._save({name: changed.entry for name, changed in self.changed.items()})
        return self.epoch

    def cover(self, changes: Mapping[str, OriginalsEntry]) -> None:
        """Make durable what is about to be written, before it is."""
        self._save({**{name: changed.entry for name, changed in self.changed.items()}, **changes})

    def settle(self) -> None:
        """Take from the journal what was put back; tried again later if that fails.

        Entries in it that merely allow more than is true stay: they are replaced with the next
        change and harm nobody until then.
        """
        if self._saved == self.changed.keys():
            return
        try:
            self._save({name: changed.entry for name, changed in self.changed.items()})
        except JournalUnavailable:
            return  # `problem` tells

    def leftovers(self) -> list[str]:
        """Policies whose lease is over but that could not be restored."""
        return [name for name, changed in self.changed.items() if changed.request is None]

    def requests(self) -> dict[str, LimitRequest]:
        """What the lease has asked for so far."""
        return {
            name: changed.request
            for name, changed in self.changed.items()
            if changed.request is not None
        }

    def drifted(self) -> set[str]:
        return {name for name, changed in self.changed.items() if changed.drifted}

    def _save(self, entries: dict[str, OriginalsEntry]) -> None:
        try:
            self._journal.save(self.epoch, entries)
        except JournalUnavailable as error:
            self._saved = None
            self.problem = str(error)
            raise
        self._saved = frozenset(entries)
        self.problem = None
