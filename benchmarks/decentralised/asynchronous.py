"""The protocol on an asynchronous network: any message under way may be the next to arrive.

A run is a list of events, so that a counter-example can be replayed and made shorter. Operator 0
is the source, one instance that never scales; records enter there and leave after the last.
"""

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum

from benchmarks.decentralised.deployment import PipelineDeployment
from mpc.decentralised.messages import Address, Envelope, Record
from mpc.decentralised.node import ALL_GUARDS, Guard, Node, Stage

SOURCE = Address(0, 0)


class Breach(Enum):
    """What the paper promises not to happen (sections 1 and 4.3)."""

    SENT_TO_DELETED = "a record reaches a deleted instance"
    UNKNOWN_SENDER = "a record comes from an instance that was never told to be a predecessor"
    MESSAGE_TO_DELETED = "a message of the protocol reaches a deleted instance"
    UNFINISHED = "an operation never ends"
    INCONSISTENT_VIEW = "a neighbour is missing or gone when all is quiet"
    LOST = "a record is neither delivered nor waiting"


WHEN_QUIET = frozenset({Breach.UNFINISHED, Breach.INCONSISTENT_VIEW, Breach.LOST})
"""Seen only when no message is under way any more."""


@dataclass(frozen=True, slots=True)
class Violation:
    breach: Breach
    detail: str


@dataclass(frozen=True, slots=True)
class Deliver:
    """The message at `position` of a channel arrives; 0 is the oldest."""

    sender: Address
    receiver: Address
    position: int = 0


@dataclass(frozen=True, slots=True)
class Work:
    address: Address


@dataclass(frozen=True, slots=True)
class InstanceAddition:
    address: Address


@dataclass(frozen=True, slots=True)
class InstanceRemoval:
    address: Address


@dataclass(frozen=True, slots=True)
class Enter:
    """A record enters the pipeline."""


Event = Deliver | Work | InstanceAddition | InstanceRemoval | Enter


@dataclass(frozen=True, slots=True)
class PipelineSetting:
    """The pipeline, and what of the protocol's assumptions holds."""

    instances: tuple[int, ...] = (1, 2, 2, 2)
    """Of every operator; the first is the source."""
    most_instances: int = 4
    guards: frozenset[Guard] = ALL_GUARDS
    fifo: bool = True
    """Without it messages of the protocol overtake each other; records do not, so that what is
    found is what section 4.3 describes and not a record that came too late."""

    def __post_init__(self) -> None:
        if len(self.instances) < 2 or self.instances[0] != 1:
            raise ValueError(f"one source and an operator are needed, got {self.instances}")


@dataclass(slots=True)
class Report:
    """What happened, in words, and what should not have."""

    violations: list[Violation] = field(default_factory=list)
    log: list[str] = field(default_factory=list)


class AsynchronousNetwork:
    def __init__(self, setting: PipelineSetting) -> None:
        self._setting = setting
        self.deployment = PipelineDeployment(setting.instances, setting.guards)
        self.report = Report()
        self._channels: dict[tuple[Address, Address], deque[Envelope]] = {}
        self._known: dict[Address, set[Address]] = {}
        self._entered = 0
        self._delivered = 0
        for address in self.deployment.nodes:
            self._note_view(address)

    def deliveries(self) -> list[Event]:
        """Every message that may arrive next: the oldest of a channel, or any without FIFO."""
        return [
            Deliver(sender, receiver, position)
            for (sender, receiver), channel in self._channels.items()
            for position in range(self._arriving(channel))
        ]

    def works(self) -> list[Event]:
        return [Work(address) for address, node in self._living() if node.may_work]

    def operations(self) -> list[Event]:
        """Every scaling operation that a node could begin now."""
        events: list[Event] = []
        for address, node in self._living():
            if address == SOURCE or not node.may_scale:
                continue
            if len(self.deployment.alive(address.operator)) < self._setting.most_instances:
                events.append(InstanceAddition(address))
            if not node.keeper:
                events.append(InstanceRemoval(address))
        return events

    def apply(self, event: Event) -> bool:
        """Let it happen; False if it cannot (any more, or in this run)."""
        if not self._possible(event):
            return False
        match event:
            case Enter():
                record = Record(self._entered)
                self._entered += 1
                self.report.log.append(f"record {record.number} enters at {SOURCE}")
                self.deployment.nodes[SOURCE].receive(SOURCE, record)
            case Work(address):
                self._work(address)
            case InstanceAddition(address):
                self.report.log.append(f"{address} decides to duplicate itself")
                self._post(self.deployment.scale_out(address, 1))
            case InstanceRemoval(address):
                self.report.log.append(f"{address} decides to delete itself")
                self._end(address, self.deployment.scale_in(address))
            case Deliver(sender, receiver, position):
                self._deliver(sender, receiver, position)
        return True

    def settle(self) -> None:
        """Deliver and work off everything in a fixed order, then look at what is left."""
        while True:
            events = self.deliveries() or self.works()
            if not events:
                break
            self.apply(events[0])
        self.check_quiet()

    def check_quiet(self) -> None:
        """What must hold when no message is under way and no record waits."""
        for detail in self.deployment.unfinished():
            self._breach(Breach.UNFINISHED, detail)
        for detail in self.deployment.inconsistent():
            self._breach(Breach.INCONSISTENT_VIEW, detail)
        waiting = sum(len(node.queue) for _, node in self._living())
        refused = sum(
            violation.breach is Breach.SENT_TO_DELETED for violation in self.report.violations
        )
        missing = self._entered - self._delivered - waiting - refused
        if missing:
            self._breach(Breach.LOST, f"{missing} of {self._entered} records")

    def _possible(self, event: Event) -> bool:
        match event:
            case Deliver(sender, receiver, position):
                channel = self._channels.get((sender, receiver))
                return channel is not None and position < self._arriving(channel)
            case Work(address):
                return address in self.deployment.nodes and self.deployment.nodes[address].may_work
            case InstanceAddition() | InstanceRemoval():
                return event in self.operations()
        return True

    def _arriving(self, channel: deque[Envelope]) -> int:
        """How many of a channel may be the next; a record neither overtakes nor is overtaken."""
        if self._setting.fifo:
            return 1
        ahead = 0
        while ahead < len(channel) and not isinstance(channel[ahead].body, Record):
            ahead += 1
        return max(ahead, 1)

    def _deliver(self, sender: Address, receiver: Address, position: int) -> None:
        channel = self._channels[sender, receiver]
        envelope = channel[position]
        del channel[position]
        if not channel:
            del self._channels[sender, receiver]
        self.report.log.append(f"arrives: {envelope}")
        node = self.deployment.nodes[receiver]
        is_record = isinstance(envelope.body, Record)
        if node.stage is Stage.TERMINATED:
            breach = Breach.SENT_TO_DELETED if is_record else Breach.MESSAGE_TO_DELETED
            self._breach(breach, str(envelope))
            return
        if is_record and node.stage is not Stage.INACTIVE and sender not in self._known[receiver]:
            self._breach(Breach.UNKNOWN_SENDER, str(envelope))
        sent = node.receive(sender, envelope.body)
        self._note_view(receiver)
        self._end(receiver, sent)

    def _work(self, address: Address) -> None:
        sent, results = self.deployment.nodes[address].work()
        self._delivered += len(results)
        self.report.log += [f"record {record.number} leaves at {address}" for record in results]
        self._end(address, sent)

    def _end(self, address: Address, sent: list[Envelope]) -> None:
        self._post(sent)
        if self.deployment.nodes[address].stage is Stage.TERMINATED:
            self.report.log.append(f"{address} terminates")

    def _post(self, envelopes: Sequence[Envelope]) -> None:
        for envelope in envelopes:
            self.report.log.append(f"sent: {envelope}")
            key = envelope.sender, envelope.receiver
            self._channels.setdefault(key, deque()).append(envelope)

    def _note_view(self, address: Address) -> None:
        """Predecessors are remembered: one that is going may still send what it had."""
        self._known.setdefault(address, set()).update(self.deployment.nodes[address].preds)

    def _breach(self, breach: Breach, detail: str) -> None:
        self.report.log.append(f"VIOLATION, {breach.value}: {detail}")
        self.report.violations.append(Violation(breach, detail))

    def _living(self) -> list[tuple[Address, Node]]:
        return [
            (node.address, node)
            for operator in self.deployment.operators
            for node in self.deployment.alive(operator)
        ]
