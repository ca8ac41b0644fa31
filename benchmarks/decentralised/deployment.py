"""The nodes of one pipeline, and what must hold for them when no message is under way.

Creates and starts nodes; how long messages take is the business of whoever delivers them.
"""

from collections.abc import Sequence
from itertools import pairwise

from mpc.decentralised.messages import Address, Envelope
from mpc.decentralised.node import ALL_GUARDS, Guard, Node, Stage


class PipelineDeployment:
    """Operators 0, 1, ... with so many instances each, all active and connected."""

    def __init__(self, instances: Sequence[int], guards: frozenset[Guard] = ALL_GUARDS) -> None:
        if not instances or min(instances) < 1:
            raise ValueError(f"every operator needs an instance, got {tuple(instances)}")
        self._guards = guards
        self._operators = len(instances)
        self._created = [0] * self._operators
        self.nodes: dict[Address, Node] = {}
        self._alive: list[dict[Address, Node]] = [{} for _ in instances]
        for operator, count in enumerate(instances):
            for _ in range(count):
                self._create(operator)
        for node in self.nodes.values():
            node.activate(*self._neighbours(node.address.operator))

    @property
    def operators(self) -> range:
        return range(self._operators)

    def alive(self, operator: int) -> list[Node]:
        """Every instance that has not terminated, active or not, oldest first."""
        gone = [
            address
            for address, node in self._alive[operator].items()
            if node.stage is Stage.TERMINATED
        ]
        for address in gone:
            del self._alive[operator][address]
        return list(self._alive[operator].values())

    def scale_out(self, address: Address, count: int) -> list[Envelope]:
        """The node duplicates itself so often."""
        siblings = [self._create(address.operator).address for _ in range(count)]
        return self.nodes[address].scale_out(siblings)

    def scale_in(self, address: Address) -> list[Envelope]:
        return self.nodes[address].scale_in()

    def unfinished(self) -> list[str]:
        """Nodes that are still in an operation although no message is under way."""
        return [
            f"{node.address} stays {node.stage.name.lower()}"
            for operator in self.operators
            for node in self.alive(operator)
            if node.stage is not Stage.ACTIVE
        ]

    def inconsistent(self) -> list[str]:
        """Views that differ from the truth: all instances of the operators before and after."""
        found = []
        for before, after in pairwise(self.operators):
            succs = {node.address for node in self.alive(after)}
            preds = {node.address for node in self.alive(before)}
            found += [
                f"successors of {node.address}: {_differences(node.succs, succs)}"
                for node in self.alive(before)
                if node.stage is Stage.ACTIVE and node.succs != succs
            ]
            found += [
                f"predecessors of {node.address}: {_differences(node.preds, preds)}"
                for node in self.alive(after)
                if node.stage is Stage.ACTIVE and node.preds != preds
            ]
        return found

    def _create(self, operator: int) -> Node:
        number = self._created[operator]
        self._created[operator] += 1
        node = Node(
            Address(operator, number),
            keeper=number == 0,
            last=operator == self._operators - 1,
            guards=self._guards,
        )
        self.nodes[node.address] = node
        self._alive[operator][node.address] = node
        return node

    def _neighbours(self, operator: int) -> tuple[list[Address], list[Address]]:
        return (
            [address for address in self.nodes if address.operator == operator + 1],
            [address for address in self.nodes if address.operator == operator - 1],
        )


def _differences(view: set[Address], truth: set[Address]) -> str:
    missing = [f"{address} missing" for address in sorted(truth - view)]
    wrong = [f"{address} is gone" for address in sorted(view - truth)]
    return ", ".join(missing + wrong)
