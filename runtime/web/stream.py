"""Server-sent events to any number of browsers, none of which can hold up the others.

A reader that is too slow is cut off; it connects again by itself and reads what it missed.
"""

import asyncio
from collections.abc import AsyncIterator

MOST_READERS = 64
MOST_WAITING = 32
PULSE_S = 10.0
_PULSE = b": still here\n\n"


class Stream:
    """For one event loop."""

    def __init__(self) -> None:
        self._readers: set[asyncio.Queue[bytes | None]] = set()
        self._closed = False

    @property
    def readers(self) -> int:
        return len(self._readers)

    @property
    def full(self) -> bool:
        return self._closed or len(self._readers) >= MOST_READERS

    def send(self, message: bytes) -> None:
        for queue in tuple(self._readers):
            if queue.qsize() >= MOST_WAITING:
                self._cut_off(queue)
            else:
                queue.put_nowait(message)

    def close(self) -> None:
        self._closed = True
        for queue in tuple(self._readers):
            self._cut_off(queue)

    async def messages(self, greeting: bytes) -> AsyncIterator[bytes]:
        """The greeting, what is sent from then on, and a sign of life while there is nothing."""
        queue: asyncio.Queue[bytes | None] = asyncio.Queue()
        queue.put_nowait(greeting)
        self._readers.add(queue)
        try:
            while True:
                try:
                    message = await asyncio.wait_for(queue.get(), PULSE_S)
                except TimeoutError:
                    message = _PULSE
                if message is None:
                    return
                yield message
        finally:
            self._readers.discard(queue)

    def _cut_off(self, queue: asyncio.Queue[bytes | None]) -> None:
        self._readers.discard(queue)
        while not queue.empty():
            queue.get_nowait()
        queue.put_nowait(None)


def event(name: str, data: bytes) -> bytes:
    """`data` is JSON, so it has no line ends."""
    return b"event: " + name.encode() + b"\ndata: " + data + b"\n\n"
