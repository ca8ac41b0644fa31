"""Sends requests that must all be refused to a real agent, over a real socket, and watches it.

`python -m tests.end_to_end.agent.fuzz --requests 100000 --seed 1` is the long run. A controller
holds the lease meanwhile: nothing that is sent may change a file of the host.
"""

import argparse
import json
import os
import random
import socket
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from energy.emulation.description import HostDescription
from energy.emulation.folder import write_files
from energy.emulation.host import EmulatedHost
from runtime.agent.wire.refusals import HTTP_STATUS
from tests.end_to_end.agent.bad_requests import BadRequest, bad_request
from tests.runtime.agent.process import AgentProcess

CAP_KHZ = 1_600_000


@dataclass(slots=True)
class Outcome:
    """What came of a run; `wrong` holds everything that must not be."""

    sent: int = 0
    answered: int = 0
    codes: Counter[str] = field(default_factory=Counter)
    unanswered: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)
    early_bytes: int = 0
    """Memory of the agent after the first tenth, when everything has been used once."""
    final_bytes: int = 0


def tree_bytes(root: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in sorted(root.rglob("*")) if path.is_file()}


def fuzz(requests: int, seed: int, progress: bool = False) -> Outcome:
    outcome = Outcome()
    draw = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder, "root")
        write_files(EmulatedHost(HostDescription(cpus=4)), root)
        with AgentProcess(Path(folder, "agent"), root) as agent, agent.local_client() as holder:
            holder.lease(period_ms=60_000)
            holder.set_frequency(CAP_KHZ)
            before = tree_bytes(root)
            connection = agent.connect()
            for number in range(requests):
                connection = _send(connection, agent, bad_request(draw), outcome)
                if number == requests // 10:
                    outcome.early_bytes = agent.resident_bytes()
                if number % 5000 == 4999:
                    holder.renew()
                    if progress:
                        print(f"{number + 1} sent, {len(outcome.wrong)} wrong", file=sys.stderr)
            connection.close()
            outcome.final_bytes = agent.resident_bytes()
            if tree_bytes(root) != before:
                outcome.wrong.append("a file of the host was changed")
            if holder.renew().epoch != holder.epoch:
                outcome.wrong.append("the lease was lost")
    return outcome


def _send(
    connection: socket.socket, agent: AgentProcess, request: BadRequest, outcome: Outcome
) -> socket.socket:
    """Send one request; the connection for the next, a new one where this one is spent."""
    outcome.sent += 1
    if not agent.running:
        raise AssertionError(f"the agent ended at a request of kind {request.kind}")
    answer, alive = _exchange(connection, request)
    if not answer and request.complete:
        # The agent may have closed the connection after the request before this one.
        connection.close()
        connection = agent.connect()
        answer, alive = _exchange(connection, request)
    if answer:
        outcome.answered += 1
        mistake = _judge(answer, outcome.codes)
        if mistake is not None:
            outcome.wrong.append(f"{request.kind}: {mistake} to {request.data[:300]!r}")
    else:
        outcome.unanswered[request.kind] += 1
        if request.complete and not _may_be_cut_off(request):
            outcome.wrong.append(f"{request.kind}: no answer to {request.data[:300]!r}")
    if alive:
        return connection
    connection.close()
    return agent.connect()


def _exchange(connection: socket.socket, request: BadRequest) -> tuple[bytes, bool]:
    """The answer, empty if there is none, and whether the connection can be used again."""
    try:
        connection.sendall(request.data)
        if not request.complete:
            connection.shutdown(socket.SHUT_WR)
        return _read_answer(connection, to_the_end=not request.complete)
    except TimeoutError:
        raise AssertionError(f"neither answered nor closed: {request.data[:300]!r}") from None
    except OSError:
        return b"", False


def _may_be_cut_off(request: BadRequest) -> bool:
    """The agent answers and closes before all of a large body is sent: the answer can be lost."""
    return request.kind.startswith("oversized")


def _read_answer(connection: socket.socket, to_the_end: bool) -> tuple[bytes, bool]:
    """One answer, or all that comes when nothing more will be sent; and whether to go on."""
    data = b""
    while to_the_end or not _is_whole(data):
        received = connection.recv(65_536)
        if not received:
            return data, False
        data += received
    return data, b"connection: close" not in data.split(b"\r\n\r\n")[0].lower()


def _is_whole(data: bytes) -> bool:
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator:
        return False
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    return True


def _judge(answer: bytes, codes: Counter[str]) -> str | None:
    """What is wrong with an answer: it must be a refusal with a known code and its status."""
    head, _, body = answer.partition(b"\r\n\r\n")
    status = int(head.split(b" ", 2)[1])
    if status < 400:
        return f"accepted with {status}"
    try:
        error = json.loads(body)["error"]
        code = error["code"]
    except (ValueError, KeyError, TypeError):
        return f"status {status} without a code: {body[:200]!r}"
    codes[code] += 1
    if HTTP_STATUS.get(code) != status:
        return f"status {status} with code {code}"
    if code == "internal":
        return f"an internal error: {error}"
    return None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--requests", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    outcome = fuzz(arguments.requests, arguments.seed, progress=True)
    print(f"sent {outcome.sent}, answered {outcome.answered}")
    print(f"codes {dict(outcome.codes.most_common())}")
    print(f"unanswered {dict(outcome.unanswered)}")
    print(
        f"memory {outcome.early_bytes / 1e6:.1f} MB after a tenth, "
        f"{outcome.final_bytes / 1e6:.1f} MB at the end"
    )
    for wrong in outcome.wrong[:20]:
        print("WRONG", wrong)
    sys.exit(1 if outcome.wrong else os.EX_OK)


if __name__ == "__main__":
    main()
