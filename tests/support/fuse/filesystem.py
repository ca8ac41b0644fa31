"""A `Tree` as answers to FUSE requests, with the manners of sysfs.

A value is produced when it is read from offset 0, one write(2) is one store, truncation means
nothing, and nobody, not even root, opens an attribute for what it has no mode bit for. A folder is
what carries an execute bit: in sysfs every folder does and no attribute. Everybody but root counts
as "others"; walking through a folder needs no right.
"""

import errno
import os
from collections.abc import Callable

from energy.tree import Tree
from tests.support.fuse import protocol as p
from tests.support.fuse.nodes import Node, Nodes
from tests.support.fuse.protocol import Operation

PAGE = 4096
"""sysfs reports every attribute with the size of a page, and takes no more in one write."""
_MAX_WRITE = 2 * PAGE
_FOR_GOOD_S = 1 << 31


class Request:
    """What an operation needs to know; one object is filled again and again."""

    __slots__ = ("body", "node_id", "uid")

    def __init__(self) -> None:
        self.node_id = 0
        self.uid = 0
        self.body = memoryview(b"")


class _OpenFile:
    __slots__ = ("content", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.content: bytes | None = None


class FileSystem:
    """The state of one mount: nodes, open files, open folders."""

    def __init__(self, tree: Tree) -> None:
        self.read_only = False
        """As if mounted read-only: nothing can be opened for writing."""
        self._tree = tree
        self._nodes = Nodes()
        self._files: dict[int, _OpenFile] = {}
        self._listings: dict[int, list[tuple[bytes, int, int]]] = {}
        self._last_handle = 0
        self.operations: dict[int, Callable[[Request], bytes | None]] = {
            Operation.INIT: self._init,
            Operation.LOOKUP: self._lookup,
            Operation.FORGET: self._forget,
            Operation.BATCH_FORGET: self._batch_forget,
            Operation.GETATTR: self._getattr,
            Operation.SETATTR: self._setattr,
            Operation.ACCESS: self._access,
            Operation.OPEN: self._open,
            Operation.READ: self._read,
            Operation.WRITE: self._write,
            Operation.RELEASE: self._release,
            Operation.OPENDIR: self._opendir,
            Operation.READDIR: self._readdir,
            Operation.RELEASEDIR: self._releasedir,
            Operation.STATFS: lambda _: p.STATFS_OUT.pack(0, 0, 0, 0, 0, PAGE, 255, PAGE),
            Operation.FSYNC: lambda _: b"",
            Operation.FSYNCDIR: lambda _: b"",
            Operation.DESTROY: lambda _: b"",
            Operation.INTERRUPT: lambda _: None,
        }
        """Each gives its answer, or None where the protocol wants none, or raises `OSError`."""

    def _init(self, request: Request) -> bytes:
        major, minor, _, offered = p.INIT_IN.unpack_from(request.body)
        if (major, minor) < (p.MAJOR, p.MINOR):
            raise OSError(errno.EPROTO, f"the kernel speaks {major}.{minor}, 7.31 is needed")
        flags = offered & (p.ATOMIC_O_TRUNC | p.BIG_WRITES | p.PARALLEL_DIROPS)
        return p.INIT_OUT.pack(p.MAJOR, p.MINOR, 0, flags, 0, 0, _MAX_WRITE, 1, 0, 0, 0)

    def _lookup(self, request: Request) -> bytes:
        parent = self._nodes[request.node_id]
        name = bytes(request.body[:-1])
        known = parent.children.get(name)
        path = known.path if known is not None else f"{parent.path}/{os.fsdecode(name)}"
        mode = self._mode(path)
        node = self._nodes.child(parent, name, path)
        # A path has one id, so the name of a folder can be kept for good: whether it still exists
        # is asked whenever it is looked into. The name of a file is looked up every time.
        name_valid_s = _FOR_GOOD_S if mode & 0o111 else 0
        return p.ENTRY_OUT.pack(node.id, 0, name_valid_s, 0, 0, 0) + _attributes(node, mode)

    def _forget(self, request: Request) -> None:
        self._nodes.forget(request.node_id, p.FORGET_IN.unpack_from(request.body)[0])

    def _batch_forget(self, request: Request) -> None:
        count, _ = p.BATCH_FORGET_IN.unpack_from(request.body)
        for index in range(count):
            offset = p.BATCH_FORGET_IN.size + index * p.FORGET_ONE.size
            self._nodes.forget(*p.FORGET_ONE.unpack_from(request.body, offset))

    def _getattr(self, request: Request) -> bytes:
        node = self._nodes[request.node_id]
        return p.ATTR_OUT.pack(0, 0, 0) + _attributes(node, self._mode(node.path))

    def _setattr(self, request: Request) -> bytes:
        node = self._nodes[request.node_id]
        valid, _ = p.SETATTR_IN.unpack_from(request.body)
        if valid & (p.SET_MODE | p.SET_UID | p.SET_GID):
            raise OSError(errno.EPERM, "the tree keeps its own modes", node.path)
        mode = self._mode(node.path)
        if valid & p.SET_SIZE and not valid & p.SET_BY_HANDLE:
            self._check_writable(node.path, mode, request.uid)
        return p.ATTR_OUT.pack(0, 0, 0) + _attributes(node, mode)

    def _access(self, request: Request) -> bytes:
        path = self._nodes[request.node_id].path
        mask, _ = p.ACCESS_IN.unpack_from(request.body)
        mode = self._mode(path)
        if mask & os.W_OK and self.read_only:
            raise OSError(errno.EROFS, "read-only tree", path)
        # Root passes as on every file system, but executes only what somebody may.
        missing = mask & ~mode if request.uid else mask & os.X_OK & ~(mode | mode >> 3 | mode >> 6)
        if missing:
            raise OSError(errno.EACCES, "not permitted", path)
        return b""

    def _open(self, request: Request) -> bytes:
        path = self._nodes[request.node_id].path
        flags, _ = p.OPEN_IN.unpack_from(request.body)
        access = flags & os.O_ACCMODE
        mode = self._mode(path)
        if access != os.O_RDONLY:
            self._check_writable(path, mode, request.uid)
        if access != os.O_WRONLY and not mode & (0o004 if request.uid else 0o444):
            raise OSError(errno.EACCES, "not readable", path)
        self._last_handle += 1
        self._files[self._last_handle] = _OpenFile(path)
        # Past the page cache: every read(2) and write(2) comes here, as it is; close(2) need not.
        return p.OPEN_OUT.pack(self._last_handle, p.DIRECT_IO | p.NO_FLUSH, 0)

    def _read(self, request: Request) -> bytes:
        handle, offset, size = p.READ_IN.unpack_from(request.body)
        file = self._files[handle]
        content = file.content
        if offset == 0 or content is None:
            content = file.content = self._tree.read(file.path).encode()
        return content[offset : offset + size]

    def _write(self, request: Request) -> bytes:
        handle, _, size, *_ = p.WRITE_IN.unpack_from(request.body)
        path = self._files[handle].path
        start = p.WRITE_IN.size
        data = bytes(request.body[start : start + min(size, PAGE)])
        try:
            text = data.decode("ascii")
        except UnicodeDecodeError:
            raise OSError(errno.EINVAL, "not ASCII", path) from None
        self._tree.write(path, text)
        return p.WRITE_OUT.pack(len(data), 0)

    def _release(self, request: Request) -> bytes:
        self._files.pop(p.RELEASE_IN.unpack_from(request.body)[0], None)
        return b""

    def _opendir(self, request: Request) -> bytes:
        node = self._nodes[request.node_id]
        mode = self._mode(node.path)
        if request.uid and not mode & 0o004:
            raise OSError(errno.EACCES, "not readable", node.path)
        entries = [(b".", p.FOLDER_ENTRY, node.id), (b"..", p.FOLDER_ENTRY, p.UNKNOWN_INODE)]
        for text in self._names(node.path):
            inner = self._tree.mode(f"{node.path}/{text}")
            if inner is not None:
                name = os.fsencode(text)
                known = node.children.get(name)
                kind = p.FOLDER_ENTRY if inner & 0o111 else p.FILE_ENTRY
                entries.append((name, kind, known.id if known else p.UNKNOWN_INODE))
        self._last_handle += 1
        self._listings[self._last_handle] = entries
        return p.OPEN_OUT.pack(self._last_handle, 0, 0)

    def _readdir(self, request: Request) -> bytes:
        handle, offset, size = p.READ_IN.unpack_from(request.body)
        answer = bytearray()
        for index, (name, kind, inode) in enumerate(self._listings[handle][offset:], offset + 1):
            entry = p.DIRENT.pack(inode, index, len(name), kind) + name
            entry += bytes(-len(entry) % 8)
            if len(answer) + len(entry) > size:
                break
            answer += entry
        return bytes(answer)

    def _releasedir(self, request: Request) -> bytes:
        self._listings.pop(p.RELEASE_IN.unpack_from(request.body)[0], None)
        return b""

    def _mode(self, path: str) -> int:
        mode = self._tree.mode(path or "/")
        if mode is not None:
            return mode
        if path:
            raise OSError(errno.ENOENT, "no such file", path)
        return 0o755

    def _names(self, path: str) -> tuple[str, ...]:
        # A tree need not answer for what is above /sys.
        return self._tree.names(path) if path else self._tree.names("/") or ("sys",)

    def _check_writable(self, path: str, mode: int, uid: int) -> None:
        if self.read_only:
            raise OSError(errno.EROFS, "read-only tree", path)
        if not mode & (0o002 if uid else 0o222):
            raise OSError(errno.EACCES, "not writable", path)


def _attributes(node: Node, mode: int) -> bytes:
    if mode != node.mode:
        node.mode = mode
        kind, size = (p.FOLDER_BITS, 0) if mode & 0o111 else (p.FILE_BITS, PAGE)
        # One link also for folders: "not counted", so that nobody infers their subfolders.
        node.attributes = p.ATTRIBUTES.pack(
            node.id, size, 0, 0, 0, 0, 0, 0, 0, kind | mode, 1, 0, 0, 0, PAGE, 0
        )
    return node.attributes


REFUSED: dict[int, int] = {
    Operation.CREATE: errno.EACCES,
    Operation.SYMLINK: errno.EPERM,
    Operation.MKNOD: errno.EPERM,
    Operation.MKDIR: errno.EPERM,
    Operation.UNLINK: errno.EPERM,
    Operation.RMDIR: errno.EPERM,
    Operation.RENAME: errno.EPERM,
    Operation.RENAME2: errno.EPERM,
    Operation.LINK: errno.EPERM,
}
"""What sysfs answers to whoever wants to change its names. All else that is not served is ENOSYS:
of FLUSH, extended attributes and the like the kernel then asks no more."""
