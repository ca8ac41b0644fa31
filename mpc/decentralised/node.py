"""One operator instance of the decentralised scaling protocol: a message in, messages out.

Source: Belkhiria and Tedeschi 2019, section 4.2, Algorithms 4 to 10. A node knows its successors
and predecessors in the pipeline and nothing else; it has no clock and no network, and never draws a
random number.

Deviations, each of which the protocol needs to keep its promises when messages take arbitrarily
long (`Guard` names them; without any one of them a record is lost or a view goes wrong):

- A terminating node tells its predecessors first, works off its queue, and only then tells its
  successors. As published it tells both at once: a successor forgets it, terminates without
  telling it, and what the node still has in its queue goes to a successor that is gone.
- A deletion message says who is told. A neighbour that goes while a duplication is under way, and
  tells the new instances itself, is still named in their start message. As published they never
  hear of this predecessor, whose records may be on their way to them, and do not wait for those.
- A node begins no operation while another of its own is under way. As published the timer starts
  the next one and resets the one counter of acknowledgements.
- Whether a sender is a successor or a predecessor follows from its place in the pipeline. As
  published a node looks it up in its sets, which are empty until it is started.
- Where nobody has to be told (an operator without neighbours) the operation ends at once; as
  published it would wait for an acknowledgement that nobody sends.
"""

from collections import deque
from collections.abc import Iterable, Sequence
from enum import Enum, auto

from mpc.decentralised.messages import (
    Activation,
    Address,
    Body,
    Deletion,
    DeletionAck,
    Duplication,
    DuplicationAck,
    Envelope,
    Record,
)


class Guard(Enum):
    """What the correctness of a node rests on; left out only to show what happens then."""

    ACKNOWLEDGEMENTS = auto()
    """The paper's: new instances start, and old ones end, when every neighbour has answered."""
    PREDECESSORS_FIRST = auto()
    LEAVERS_NAMED = auto()
    ONE_OPERATION = auto()
    SIDE_BY_OPERATOR = auto()


ALL_GUARDS = frozenset(Guard)
PUBLISHED_GUARDS = frozenset({Guard.ACKNOWLEDGEMENTS})
"""The protocol as the paper's algorithms give it."""


class Stage(Enum):
    INACTIVE = auto()
    """Created, waiting for its start message; records that come already are kept."""
    ACTIVE = auto()
    DUPLICATING = auto()
    LEAVING = auto()
    """Told its neighbours, waits for their acknowledgements; works on."""
    DRAINING = auto()
    """Gets nothing more; works off its queue."""
    PARTING = auto()
    """Sends nothing more; waits for the acknowledgements of its successors."""
    TERMINATED = auto()


class Node:
    def __init__(
        self,
        address: Address,
        keeper: bool = False,
        last: bool = False,
        guards: frozenset[Guard] = ALL_GUARDS,
    ) -> None:
        self.address = address
        self.keeper = keeper
        """The one instance of its operator that never terminates."""
        self.last = last
        """Of the last operator: results leave the pipeline."""
        self.stage = Stage.INACTIVE
        self.succs: set[Address] = set()
        self.preds: set[Address] = set()
        self.queue: deque[Record] = deque()
        self._succs_to_add: set[Address] = set()
        self._preds_to_add: set[Address] = set()
        self._succs_to_delete: set[Address] = set()
        self._preds_to_delete: set[Address] = set()
        self._guards = guards
        self._new_siblings: tuple[Address, ...] = ()
        self._acks_awaited = 0
        self._gone_meanwhile: set[Address] = set()
        self._sent_records = 0

    @property
    def may_scale(self) -> bool:
        if Guard.ONE_OPERATION in self._guards:
            return self.stage is Stage.ACTIVE
        return self.stage not in {Stage.INACTIVE, Stage.TERMINATED}

    @property
    def may_work(self) -> bool:
        working = self.stage not in {Stage.INACTIVE, Stage.TERMINATED}
        return working and bool(self.queue) and (self.last or bool(self.succs))

    @property
    def routed_to(self) -> bool:
        """Whether predecessors count on it: started or about to be, and not going."""
        return self.stage in {Stage.INACTIVE, Stage.ACTIVE, Stage.DUPLICATING}

    def activate(self, succs: Iterable[Address], preds: Iterable[Address]) -> None:
        """Begin to work (Algorithm 7): what came in the meantime completes the views."""
        self.succs = (set(succs) | self._succs_to_add) - self._succs_to_delete
        self.preds = (set(preds) | self._preds_to_add) - self._preds_to_delete
        self.stage = Stage.ACTIVE

    def scale_out(self, new_siblings: Sequence[Address]) -> list[Envelope]:
        """Tell all neighbours of new instances, which are inactive until all have answered."""
        if not self.may_scale or not new_siblings:
            raise ValueError(f"{self.address} cannot duplicate itself: {self.stage.name.lower()}")
        self.stage = Stage.DUPLICATING
        self._new_siblings = tuple(new_siblings)
        self._gone_meanwhile = set()
        sent = self._tell(Duplication(self._new_siblings), self.succs | self.preds)
        return sent + self._advanced()

    def scale_in(self) -> list[Envelope]:
        """Begin to terminate."""
        if not self.may_scale or self.keeper:
            raise ValueError(f"{self.address} cannot delete itself: {self.stage.name.lower()}")
        self.stage = Stage.LEAVING
        told = set(self.preds)
        if Guard.PREDECESSORS_FIRST not in self._guards:
            told |= self.succs
        return self._tell(Deletion(frozenset(told)), told) + self._advanced()

    def receive(self, sender: Address, body: Body) -> list[Envelope]:
        match body:
            case Duplication(addresses):
                self._learn(sender, addresses)
                return self._answer(sender, DuplicationAck())
            case Deletion(told):
                self._forget(sender, told)
                return self._answer(sender, DeletionAck())
            case DuplicationAck() | DeletionAck():
                self._acks_awaited -= 1
                return self._advanced()
            case Activation(succs, preds):
                self.activate(succs, preds)
            case Record():
                self.queue.append(body)
        return []

    def work(self) -> tuple[list[Envelope], list[Record]]:
        """Process the oldest record: to the next successor in turn, or out of the pipeline."""
        if not self.may_work:
            raise ValueError(f"{self.address} has nothing to work on")
        record = self.queue.popleft()
        sent, results = [], []
        if self.last:
            results.append(record)
        else:
            in_turn = sorted(self.succs)[self._sent_records % len(self.succs)]
            self._sent_records += 1
            sent.append(Envelope(self.address, in_turn, record))
        if self.stage is Stage.DRAINING:
            sent += self._advanced()
        return sent, results

    def _learn(self, sender: Address, addresses: Iterable[Address]) -> None:
        """Algorithm 5."""
        active = self.stage is not Stage.INACTIVE
        if self._succeeds(sender):
            (self.succs if active else self._succs_to_add).update(addresses)
        elif self._precedes(sender):
            (self.preds if active else self._preds_to_add).update(addresses)

    def _forget(self, sender: Address, told: frozenset[Address]) -> None:
        """Algorithm 9."""
        active = self.stage is not Stage.INACTIVE
        if self.stage is Stage.DUPLICATING and told.issuperset(self._new_siblings):
            self._gone_meanwhile.add(sender)
        if self._succeeds(sender):
            if active:
                self.succs.discard(sender)
            else:
                self._succs_to_delete.add(sender)
        elif self._precedes(sender):
            if active:
                self.preds.discard(sender)
            else:
                self._preds_to_delete.add(sender)

    def _succeeds(self, other: Address) -> bool:
        if Guard.SIDE_BY_OPERATOR in self._guards:
            return other.operator > self.address.operator
        return other in self.succs

    def _precedes(self, other: Address) -> bool:
        if Guard.SIDE_BY_OPERATOR in self._guards:
            return other.operator < self.address.operator
        return other in self.preds

    def _tell(self, body: Body, receivers: set[Address]) -> list[Envelope]:
        """Algorithm 1, and the acknowledgements to wait for."""
        answered = Guard.ACKNOWLEDGEMENTS in self._guards
        self._acks_awaited = len(receivers) if answered else 0
        return [Envelope(self.address, receiver, body) for receiver in sorted(receivers)]

    def _answer(self, receiver: Address, body: Body) -> list[Envelope]:
        if Guard.ACKNOWLEDGEMENTS not in self._guards:
            return []
        return [Envelope(self.address, receiver, body)]

    def _advanced(self) -> list[Envelope]:
        """The next stage of the operation under way, if all acknowledgements for it are in."""
        if self._acks_awaited != 0:
            return []
        match self.stage:
            case Stage.DUPLICATING:
                self.stage = Stage.ACTIVE
                start = self._start()
                return [Envelope(self.address, sibling, start) for sibling in self._new_siblings]
            case Stage.LEAVING:
                self.stage = Stage.DRAINING
                return self._advanced()
            case Stage.DRAINING if not self.queue:
                if Guard.PREDECESSORS_FIRST not in self._guards:
                    self.stage = Stage.TERMINATED
                    return []
                self.stage = Stage.PARTING
                parting = Deletion(frozenset(self.succs))
                return self._tell(parting, self.succs) + self._advanced()
            case Stage.PARTING:
                self.stage = Stage.TERMINATED
        return []

    def _start(self) -> Activation:
        named = self._gone_meanwhile if Guard.LEAVERS_NAMED in self._guards else set()
        succs = {address for address in named if address.operator > self.address.operator}
        return Activation(frozenset(self.succs | succs), frozenset(self.preds | (named - succs)))
