"""An emulated host as a file system in a mount namespace of its own.

`python -m tests.support.fuse --mount DIR (--description JSON | --capture FILE)` prints one line
when it is ready, takes the calls of `control` on its standard input, and ends, leaving nothing
behind, when that is closed or SIGTERM comes. So it never outlives whoever started it.
"""

import argparse
import os
import signal
import sys
import threading
from pathlib import Path

import msgspec

from energy.emulation.description import HostDescription
from tests.support.capture import host_from_capture
from tests.support.faulty_host import FaultyHost
from tests.support.fuse.control import answers
from tests.support.fuse.mount import enter_private_namespace, mount_fuse, unmount
from tests.support.fuse.server import FuseServer

_ENDING = (signal.SIGTERM, signal.SIGINT)


def main() -> None:
    arguments = _parser().parse_args()
    if arguments.capture is not None:
        host = host_from_capture(arguments.capture.read_text())
    else:
        host = FaultyHost(msgspec.json.decode(arguments.description, type=HostDescription))
    try:
        enter_private_namespace()
        device = mount_fuse(arguments.mount)
    except OSError as error:
        _print(msgspec.json.encode({"unavailable": error.strerror}) + b"\n")
        raise SystemExit(1) from None
    server = FuseServer(device, host)
    for number in _ENDING:
        signal.signal(number, lambda *_: sys.exit(0))
    threading.Thread(target=_serve, args=(server, device), daemon=True).start()
    _print(msgspec.json.encode({"ready": {"pid": os.getpid()}}) + b"\n")
    try:
        for answer in answers(sys.stdin, host, server):
            _print(answer)
    finally:
        for number in _ENDING:
            signal.signal(number, signal.SIG_IGN)
        unmount(arguments.mount)


def _serve(server: FuseServer, device: int) -> None:
    """A server that fails ends the process: with its connection closed, nobody waits forever."""
    try:
        server.serve()
    finally:
        os.close(device)
        os.kill(os.getpid(), signal.SIGTERM)


def _print(line: bytes) -> None:
    sys.stdout.buffer.write(line)
    sys.stdout.buffer.flush()


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m tests.support.fuse", description=__doc__, allow_abbrev=False
    )
    parser.add_argument("--mount", type=Path, required=True, help="an existing folder")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--description", help='fields of a HostDescription: {"driver": "intel_pstate", "cpus": 8}'
    )
    source.add_argument("--capture", type=Path, help="the text of a captured sysfs tree")
    return parser


if __name__ == "__main__":
    main()
