"""What only the hardware, or whoever stands in front of it, can do to an emulated host.

One JSON object per line: {"call": "unplug", "arguments": [3]} is answered by {"result": ...} or
{"error": "..."}. Calls are the methods of `FaultyHost` of the same name, and "usage".
"""

import time
from collections.abc import Iterable, Iterator

import msgspec

from tests.support.faulty_host import FaultyHost
from tests.support.fuse.server import FuseServer

CALLS = frozenset(
    {
        "add_energy_uj",
        "bios_limit",
        "inject",
        "plug",
        "running_khz",
        "set_mode",
        "set_read_only",
        "snapshot",
        "thermal_cap",
        "unplug",
    }
)


class Usage(msgspec.Struct, frozen=True):
    """What serving has cost so far."""

    requests: dict[str, int]
    """By operation of the FUSE protocol."""
    cpu_s: float


class Call(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    call: str
    arguments: list[str | int | float | bool | None] = []


def answers(lines: Iterable[str], host: FaultyHost, server: FuseServer) -> Iterator[bytes]:
    """One line for each line, until there are no more."""
    for line in lines:
        try:
            answer: dict[str, object] = {"result": _result(line, host, server)}
        except (msgspec.MsgspecError, LookupError, OSError, TypeError, ValueError) as bad:
            answer = {"error": f"{line.strip()}: {bad}"}
        yield msgspec.json.encode(answer) + b"\n"


def _result(line: str, host: FaultyHost, server: FuseServer) -> object:
    call = msgspec.json.decode(line, type=Call)
    if call.call == "usage":
        return Usage(server.counts(), time.process_time())
    if call.call not in CALLS:
        raise ValueError(f"must call one of usage, {', '.join(sorted(CALLS))}")
    result: object = getattr(host, call.call)(*call.arguments)
    if call.call == "set_read_only":
        # The host refuses the write, a read-only mount already the open.
        server.files.read_only = bool(call.arguments[0])
    return result
