"""A small process that outlives the owner of a throttle and sets its processes free.

Run as `python -m energy.emulation.dvfs.guardian OWNER_PID OWNER_START_TICKS` with a pipe from the
owner as standard input: one JSON message a line, each written before the throttle does what it
says. When the owner ends, by whatever means, everything that is still in the ledger is released.
"""

import json
import os
import select
import signal
import sys

from energy.emulation.dvfs.ledger import ThrottleLedger
from energy.processes import Process, find_process

_PIPE = 0
_CHUNK = 65_536


def watch(owner: Process, pipe: int = _PIPE) -> ThrottleLedger:
    """Read until the owner is gone; what it held then."""
    ledger = ThrottleLedger()
    poll = select.poll()
    poll.register(pipe, select.POLLIN)
    # The end of the pipe would do, but for children that the owner forked without exec and that
    # hold its writing end open.
    owner_descriptor = _open(owner)
    if owner_descriptor is not None:
        poll.register(owner_descriptor, select.POLLIN)
    wait_ms = 0 if owner_descriptor is None else None
    unread = b""
    while True:
        ready = {descriptor for descriptor, _ in poll.poll(wait_ms)}
        if pipe not in ready:
            return ledger
        chunk = os.read(pipe, _CHUNK)
        if not chunk:
            return ledger
        *lines, unread = (unread + chunk).split(b"\n")
        for line in lines:
            ledger.note(json.loads(line))


def _open(owner: Process) -> int | None:
    try:
        descriptor = os.pidfd_open(owner.pid)
    except ProcessLookupError:
        return None
    if find_process(owner.pid) == owner:
        return descriptor
    os.close(descriptor)
    return None


def main() -> None:
    # Signals to the service as a whole reach the guardian too; it goes when the owner has gone.
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    watch(Process(int(sys.argv[1]), int(sys.argv[2]))).release()


if __name__ == "__main__":
    main()
