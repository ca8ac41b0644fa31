"""The loop of a FUSE connection: takes requests off the device and answers them one by one."""

import errno
import os
import sys
import traceback
from collections import Counter

from energy.tree import Tree
from tests.support.fuse.filesystem import REFUSED, FileSystem, Request
from tests.support.fuse.protocol import IN_HEADER, OUT_HEADER, Operation

_BUFFER = 16_384
"""The kernel wants room for the largest write and its headers."""


class FuseServer:
    """Serves a tree; the mount must be used by other processes only, or they wait for themselves.

    `serve` returns when the file system is unmounted.
    """

    def __init__(self, device: int, tree: Tree) -> None:
        self.files = FileSystem(tree)
        self._device = device
        self._counts: Counter[int] = Counter()

    def counts(self) -> dict[str, int]:
        """How many requests of each operation have come."""
        names = {operation.value: operation.name for operation in Operation}
        return {names.get(number, str(number)): n for number, n in sorted(self._counts.items())}

    def serve(self) -> None:
        buffer = bytearray(_BUFFER)
        buffers, view = [buffer], memoryview(buffer)
        request = Request()
        operations, counts, header = self.files.operations, self._counts, IN_HEADER.size
        while True:
            try:
                length = os.readv(self._device, buffers)
            except OSError as error:
                if error.errno == errno.ENOENT:  # taken back before it could be read
                    continue
                if error.errno == errno.ENODEV:
                    return
                raise
            _, number, unique, request.node_id, request.uid, *_ = IN_HEADER.unpack_from(buffer)
            request.body = view[header:length]
            counts[number] += 1
            operation = operations.get(number)
            if operation is None:
                self._answer(unique, REFUSED.get(number, errno.ENOSYS), b"")
                continue
            try:
                answer = operation(request)
            except OSError as error:
                self._answer(unique, error.errno or errno.EIO, b"")
            except Exception:
                # A fault of the tree must fail the one call, not leave its caller waiting.
                traceback.print_exc(file=sys.stderr)
                self._answer(unique, errno.EIO, b"")
            else:
                if answer is not None:
                    self._answer(unique, 0, answer)

    def _answer(self, unique: int, number: int, payload: bytes) -> None:
        header = OUT_HEADER.pack(OUT_HEADER.size + len(payload), -number, unique)
        try:
            os.write(self._device, header + payload)
        except OSError as error:
            # ENOENT: the caller was killed while it waited. Any other means that the answer was
            # wrong and somebody waits: ending the connection frees them.
            if error.errno != errno.ENOENT:
                raise
