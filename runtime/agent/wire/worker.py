"""The one thread that touches the host and the disk, and the bounded queue in front of it.

The core is synchronous and not thread-safe; running all of it here keeps an fsync from stalling the
event loop, and commands in one order.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Lock
from typing import TypeVar

from runtime.agent.wire.refusals import Refused

MOST_WAITING = 64

Result = TypeVar("Result")


class Worker:
    """Runs calls one after another in a thread of its own."""

    def __init__(self, most_waiting: int = MOST_WAITING) -> None:
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="agent")
        self._most_waiting = most_waiting
        self._lock = Lock()
        self.waiting = 0
        """Calls that have not ended yet, the running one included."""

    async def call(self, function: Callable[[], Result]) -> Result:
        """The result of a command; raises `Refused` when too many wait already."""
        if self.waiting >= self._most_waiting:
            raise Refused("unavailable", f"{self.waiting} commands are waiting, try again later")
        return await self.always(function)

    async def always(self, function: Callable[[], Result]) -> Result:
        """Like `call`, for what must happen however many wait: the tick and the restore."""
        # Shielded: what was begun for a caller that is gone by now still runs to its end.
        return await asyncio.shield(asyncio.wrap_future(self._submit(function)))

    def note(self, function: Callable[[], None]) -> bool:
        """Run it soon without waiting for it; False: dropped, as too many wait already."""
        if self.waiting >= self._most_waiting:
            return False
        self._submit(function)
        return True

    def close(self) -> None:
        """Wait for what is queued and end the thread."""
        self._thread.shutdown(wait=True)

    def _submit(self, function: Callable[[], Result]) -> Future[Result]:
        with self._lock:
            self.waiting += 1
        future = self._thread.submit(function)
        future.add_done_callback(self._done)
        return future

    def _done(self, _: object) -> None:
        with self._lock:
            self.waiting -= 1
