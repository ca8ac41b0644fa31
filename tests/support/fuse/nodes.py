"""The paths the kernel holds a node id for, with the count of references it took.

A node is a path: as long as the kernel knows it, the same path keeps the same id.
"""

from dataclasses import dataclass, field

from tests.support.fuse.protocol import ROOT_ID


@dataclass(slots=True, eq=False)
class Node:
    id: int
    path: str
    parent: "Node | None"
    name: bytes
    lookups: int = 0
    children: "dict[bytes, Node]" = field(default_factory=dict)
    mode: int | None = None
    """The permission bits that `attributes` were packed for."""
    attributes: bytes = b""


class Nodes:
    """Grows with every name the kernel looks up, shrinks with what it forgets."""

    def __init__(self) -> None:
        # The path of the root is empty so that a child is always "<parent>/<name>".
        self._by_id: dict[int, Node] = {ROOT_ID: Node(ROOT_ID, "", None, b"", lookups=1)}
        self._last_id = ROOT_ID

    def __len__(self) -> int:
        return len(self._by_id)

    def __getitem__(self, node_id: int) -> Node:
        return self._by_id[node_id]

    def child(self, parent: Node, name: bytes, path: str) -> Node:
        """The node of a name that exists, made when it is new; counts one reference."""
        node = parent.children.get(name)
        if node is None:
            self._last_id += 1
            node = Node(self._last_id, path, parent, name)
            parent.children[name] = node
            self._by_id[node.id] = node
        node.lookups += 1
        return node

    def forget(self, node_id: int, lookups: int) -> None:
        node = self._by_id.get(node_id)
        if node is None or node.parent is None:
            return
        node.lookups -= lookups
        # The kernel may forget a folder before its children: it stays until they are gone.
        while node.parent is not None and node.lookups <= 0 and not node.children:
            del self._by_id[node.id]
            del node.parent.children[node.name]
            node = node.parent
