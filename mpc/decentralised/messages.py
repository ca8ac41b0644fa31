"""What the nodes of the scaling protocol send each other (Belkhiria and Tedeschi 2019, section
4.2).

Records travel in the same channels as the protocol's own messages: that a channel keeps their
order is what lets an acknowledgement say "nothing more will come from me".
"""

from dataclasses import dataclass
from typing import NamedTuple


class Address(NamedTuple):
    """Instance `number` of the operator at position `operator` of the pipeline; never reused."""

    operator: int
    number: int

    def __str__(self) -> str:
        return f"O{self.operator}.{self.number}"


@dataclass(frozen=True, slots=True)
class Duplication:
    """The sender has made new instances of its operator."""

    addresses: tuple[Address, ...]


@dataclass(frozen=True, slots=True)
class DuplicationAck:
    pass


@dataclass(frozen=True, slots=True)
class Deletion:
    """The sender is going to terminate itself."""

    told: frozenset[Address]
    """Everyone who gets this message."""


@dataclass(frozen=True, slots=True)
class DeletionAck:
    pass


@dataclass(frozen=True, slots=True)
class Activation:
    """From the duplicating instance to each new one: its neighbours; begin to work."""

    succs: frozenset[Address]
    preds: frozenset[Address]


@dataclass(frozen=True, slots=True)
class Record:
    """One tuple of the stream."""

    number: int


Body = Duplication | DuplicationAck | Deletion | DeletionAck | Activation | Record


@dataclass(frozen=True, slots=True)
class Envelope:
    sender: Address
    receiver: Address
    body: Body

    def __str__(self) -> str:
        return f"{_words(self.body)} {self.sender} -> {self.receiver}"


def _words(body: Body) -> str:
    match body:
        case Duplication(addresses):
            return f"duplication({', '.join(map(str, addresses))})"
        case DuplicationAck():
            return "duplication_ack"
        case Deletion():
            return "deletion"
        case DeletionAck():
            return "deletion_ack"
        case Activation():
            return "start"
        case Record(number):
            return f"record {number}"
