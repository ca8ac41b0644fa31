"""The files of an emulated host as plain files, which remember what is written and no more."""

import contextlib
from pathlib import Path

from energy.tree import Tree


def write_files(tree: Tree, root: Path) -> None:
    """Copy every readable file below /sys into a folder, to be used as the root of a host."""
    folders = ["/sys"]
    while folders:
        folder = folders.pop()
        (root / folder[1:]).mkdir(parents=True, exist_ok=True)
        for name in tree.names(folder):
            path = f"{folder}/{name}"
            if tree.names(path):
                folders.append(path)
                continue
            with contextlib.suppress(OSError):
                text = tree.read(path)
                (root / path[1:]).write_text(text)
